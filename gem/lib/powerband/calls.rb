# frozen_string_literal: true

require_relative "calls/notifications"
require_relative "calls/clients"
require_relative "calls/routes"
require_relative "pools"

module Powerband
  # What a mistake of ours raises. Ruby looks for exceptions of other threads at every branch and at the return of every
  # method, those written in C too: one that comes while our code runs (a timeout's, a shutdown's) may be of any other
  # class, is the application's, and passes. The last is what the extension says in Ractors but the main one, of which
  # nothing is recorded.
  MISTAKES = [NameError, TypeError, ArgumentError, IndexError, RangeError, *(Ractor::UnsafeError if defined?(Ractor))].freeze

  # The calls that a request waits in: SQL, HTTP, cache, Redis and the wait for a database connection. This file knows
  # which libraries make them and hooks into those that are there; nothing is loaded for it, no autoload is touched.
  module Calls
    # What is hooked: the constants that have to be there, the kind that is then measured (none for names of routes),
    # and how. A hook that answers false is tried again a second later: its library is still being loaded.
    Library = Struct.new(:constants, :kind, :hook) do
      def ready?
        constants.all? { |path| Calls.constant(path) }
      end
    end

    LIBRARIES = [
      Library.new([%i[ActiveSupport Notifications], %i[ActiveRecord]], CALLS.fetch(:sql), -> { Notifications.sql }),
      Library.new([%i[ActiveSupport Notifications], %i[ActiveSupport Cache]], CALLS.fetch(:cache),
                  -> { Notifications.cache }),
      Library.new([%i[Net HTTP]], CALLS.fetch(:http), -> { Clients.net_http(::Net::HTTP) }),
      Library.new([%i[RedisClient Middlewares]], CALLS.fetch(:redis), -> { Clients.redis(::RedisClient) }),
      Library.new([%i[Dalli Client]], CALLS.fetch(:cache), -> { Clients.dalli(::Dalli::Client) }),
      Library.new([%i[ActiveRecord ConnectionAdapters ConnectionPool]], CALLS.fetch(:pool),
                  -> { Pools.hook(::ActiveRecord::ConnectionAdapters::ConnectionPool) }),
      Library.new([%i[ActiveSupport Notifications], %i[Grape]], nil, -> { Routes.grape }),
      Library.new([%i[ActionDispatch]], nil, -> { Native.names(NAMES.fetch(:rails)) }),
      Library.new([%i[Sinatra]], nil, -> { Native.names(NAMES.fetch(:sinatra)) })
    ].freeze

    @states = {}.compare_by_identity
    @lock = Mutex.new

    class << self
      # Hooks what has been loaded since the last time. At the start of a recording this is nearly everything, then
      # once a second. The measured kinds are reported again, for the file may be a new one.
      def install
        undisturbed do
          next unless @lock.try_lock

          begin
            LIBRARIES.each { |library| add(library) }
          ensure
            @lock.unlock
          end
        end
      end

      # What is done once a second, by a request that begins and before its time counts.
      def each_second
        install
        undisturbed { Pools.sample }
        undisturbed { Native.heap_sample }
        undisturbed { Recorder.keep_young }
      end

      # Times what the block does.
      def around(kind)
        begin
          started = Native.call_start(kind)
        rescue *MISTAKES => e
          lost(e)
        end
        yield
      ensure
        begin
          Native.call_finish(started, kind)
        rescue *MISTAKES => e
          lost(e)
        end
      end

      # The same for what a call needs first, such as a connection.
      def preparing(kind)
        begin
          started = Native.call_start(kind)
        rescue *MISTAKES => e
          lost(e)
        end
        yield
      ensure
        begin
          Native.call_prepared(started, kind)
        rescue *MISTAKES => e
          lost(e)
        end
      end

      def lost(error)
        Powerband.fault("a request's calls (SQL, HTTP, cache, Redis, connection pool) are not all counted", error)
      end

      # The constant, if it is really there.
      def constant(path)
        path.inject(::Object) do |namespace, name|
          break unless namespace.const_defined?(name, false) && !namespace.autoload?(name, false)

          namespace.const_get(name, false)
        end
      end

      private

      def add(library)
        @states[library] = :hooked if @states[library].nil? && library.ready? && library.hook.call
        Native.measures(library.kind) if library.kind && @states[library] == :hooked
      rescue StandardError => e
        @states[library] = :failed
        lost(e)
      end

      # An exception of another thread's is put off: it is the application's, and not ours to rescue.
      def undisturbed
        Thread.handle_interrupt(Object => :never) do
          yield
        rescue StandardError => e
          lost(e)
        end
      end
    end
  end
end
