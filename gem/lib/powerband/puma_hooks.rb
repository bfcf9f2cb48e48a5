# frozen_string_literal: true

module Powerband
  # Hooks into the start of Puma: its server is made (the application gets wrapped) and runs (the flight file is
  # opened, in the process that serves). A worker forked from another worker makes no new server, but runs it.
  module PumaHooks
    # Prepended to Puma::Server.
    module Server
      def initialize(app, *rest)
        super(PumaHooks.wrap(app, rest[1]), *rest)
      end
      ruby2_keywords :initialize

      def run(*rest)
        PumaHooks.starting(self)
        super
      end
      ruby2_keywords :run
    end

    # Prepended to Puma::Cluster::Worker.
    module Worker
      def run
        PumaHooks.working(self)
        super
      end
    end

    @worker_index = nil

    class << self
      # Puma's classes are whole by the time that a server is made.
      def wrap(app, options)
        return app unless launchers?(options)

        mark
        Middleware === app ? app : Middleware.new(app) # rubocop:disable Style/CaseEquality
      rescue StandardError => e
        Powerband.fault("the application is not measured", e)
        app
      end

      def starting(server)
        return unless Middleware === server.app # rubocop:disable Style/CaseEquality

        Powerband.setup&.serving(server.app, :puma) { |out_of_band| Setup::Servers.into_puma(server, out_of_band) }
        Recorder.start(settings(server))
      rescue StandardError => e
        Powerband.fault("Puma's settings cannot be read", e)
      end

      # Puma 5 has no reader for them.
      def options(server)
        server.respond_to?(:options) ? server.options : server.instance_variable_get(:@options)
      end

      def working(worker)
        @worker_index = worker.index
      rescue StandardError => e
        Powerband.fault("the worker's index cannot be read", e)
      end

      private

      # Only Puma's launcher hands over the options that it has read. Other servers in the process (Puma's own
      # status page, a plugin's page of metrics) get a few of their own.
      def launchers?(options)
        defined?(::Puma::UserFileDefaultOptions) && ::Puma::UserFileDefaultOptions === options # rubocop:disable Style/CaseEquality
      end

      # One mark alone, since a mark costs each request what a request's clocks cost. A thread of the pool comes here with a
      # request that it, or the reactor, has parsed; since it last waited it only read and parsed, so that waiting for the
      # client is not included. Reading and parsing before, in the reactor, are not seen.
      def mark
        ServerSpans.mark(::Puma::Server, :handle_request)
      rescue StandardError => e
        Powerband.fault("Puma's parsing and writing are not measured", e)
      end

      # The agent may have been loaded by the application, when the worker was already running; Puma's title has the index.
      def worker_index
        @worker_index || $PROGRAM_NAME[/\Apuma: cluster worker (\d+):/, 1]&.to_i
      end

      def settings(server)
        options = options(server)
        workers = options[:workers].to_i
        {
          server_name: "puma #{::Puma::Const::PUMA_VERSION}", workers: workers, worker_index: worker_index,
          min_threads: server.min_threads, max_threads: server.max_threads,
          preload: workers.positive? && options[:preload_app] ? 1 : 0
        }
      end
    end
  end
end
