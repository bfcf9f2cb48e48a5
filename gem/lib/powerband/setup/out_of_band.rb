# frozen_string_literal: true

module Powerband
  class Setup
    # A full run of the collector after every so many requests of a process, when the server says that none is in flight.
    # What counts the requests is the server's counter where it has one, else `one_more?`.
    class OutOfBand
      attr_reader :runs

      # From Ruby 3.4 on there are no full runs but these. True where that is so.
      def self.minor_only
        return false unless GC.respond_to?(:config)

        GC.config(rgengc_allow_full_mark: false)
        GC.config[:rgengc_allow_full_mark] == false
      end

      def initialize(every, &collected)
        @every = every
        @collected = collected
        @requests = @last = @runs = 0
        @pid = nil
      end

      # In the process that serves, which may have been forked from one that did.
      def begin
        return if @pid == Process.pid

        @pid = Process.pid
        @runs = 0
      end

      def one_more?
        reached?(@requests += 1)
      end

      def reached?(total)
        return false if total - @last < @every

        @last = total
        true
      end

      def collect
        disabled = GC.enable
        GC.start
        GC.disable if disabled
        @runs += 1
        @collected.call
      end
    end

    # A major collection when Ruby needs one, as soon as no request is in flight: the limits that start one within a request
    # decide here as well.
    class MajorOutOfBand < OutOfBand
      def self.needs
        "oob_major needs a Ruby whose collector can leave major collections out (3.4 and later), this is #{RUBY_VERSION}"
      end

      def initialize(&)
        super(1, &)
      end

      def reached?(_total)
        !GC.latest_gc_info(:need_major_by).nil?
      end
    end
  end
end
