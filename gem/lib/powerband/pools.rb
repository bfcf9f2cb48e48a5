# frozen_string_literal: true

module Powerband
  # ActiveRecord's connection pools: how long a request waits for a connection, and once a second how each pool stands.
  module Pools
    # Around `checkout`. The extension takes of it only the waiting: making a connection and asking the database whether
    # it still lives are not that.
    CHECKOUT = "::Powerband::Calls.around(#{CALLS.fetch(:pool)}) { ::Powerband::Pools.seen(self); %s }".freeze

    NEEDED = %i[checkout stat discarded? automatic_reconnect mon_try_enter].freeze
    LAST = 0xFFFF # in 16 bits of the flight file

    # Weak, because an application may replace its pools at any time. Those that were checked out of, not those that
    # the application knows: asking Rails for a pool makes it, with a thread of its own.
    @seen = ObjectSpace::WeakMap.new
    @numbers = ObjectSpace::WeakMap.new
    @count = 0
    @pid = nil

    class << self
      def hook(pool)
        return false unless NEEDED.all? { |name| pool.method_defined?(name) }

        Wrapping.wrap(pool, :checkout) { |call| format(CHECKOUT, call) }
        true
      end

      def seen(pool)
        @seen[pool] = true unless @seen.key?(pool)
      end

      # Never waits for a pool, and takes nothing out of it.
      def sample
        number_anew unless @pid == Process.pid
        @seen.keys.each do |pool| # rubocop:disable Style/HashEachMethods -- threads may come and add
          next if gone?(pool) || (number = number_of(pool)) > LAST

          stat = stat_of(pool)
          Native.pool_sample(number, *stat.values_at(:size, :connections, :busy, :dead, :idle, :waiting)) if stat
        end
      end

      private

      # A new process has a new file. The pools of its parent were discarded by Rails as it forked.
      def number_anew
        @pid = Process.pid
        @numbers = ObjectSpace::WeakMap.new
        @count = 0
      end

      # Discarded in a fork, or taken out by the application, and not yet collected.
      def gone?(pool)
        pool.discarded? || !pool.automatic_reconnect
      end

      def number_of(pool)
        @numbers[pool] ||= (@count += 1) - 1
      end

      # The pool's own lock, which it takes again for its statistics: held by another thread, it is left alone.
      def stat_of(pool)
        return unless pool.mon_try_enter

        begin
          pool.stat
        ensure
          pool.mon_exit
        end
      end
    end
  end
end
