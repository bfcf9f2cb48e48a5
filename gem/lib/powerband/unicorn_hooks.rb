# frozen_string_literal: true

module Powerband
  # Hooks into the start of Unicorn: the application is built (in the master when it preloads, else in the worker), and a
  # worker is about to serve, as the user that it serves as.
  module UnicornHooks
    # Prepended to Unicorn::HttpServer.
    module HttpServer
      private

      def build_app!
        super
        UnicornHooks.built(self)
      end

      def init_worker_process(worker)
        super.tap { UnicornHooks.starting(self, worker) }
      end

      # Reached, too, where the application brought the agent along while the worker was being made ready.
      def prep_readers(readers)
        UnicornHooks.starting(self, readers.last)
        super
      end
    end

    class << self
      # Again after SIGHUP, when Unicorn goes back to the builder that it was started with.
      def built(server)
        mark
        app = server.app
        server.app = Middleware.new(app) unless Middleware === app # rubocop:disable Style/CaseEquality
      rescue StandardError => e
        Powerband.fault("the application is not measured", e)
      end

      def starting(server, worker)
        built(server)
        Powerband.setup&.serving(server.app, server.app) { |out_of_band| Setup::Servers.into_unicorn(out_of_band) }
        Recorder.start(settings(server, worker))
      rescue StandardError => e
        Powerband.fault("Unicorn's settings cannot be read", e)
      end

      private

      def mark
        ServerSpans.mark(::Unicorn::HttpServer, :process_client)
      rescue StandardError => e
        Powerband.fault("Unicorn's parsing and writing are not measured", e)
      end

      # A worker is one thread. Where it is not given us, its number is unknown.
      def settings(server, worker)
        {
          server_name: "unicorn #{::Unicorn::Const::UNICORN_VERSION}", workers: server.worker_processes,
          worker_index: (worker.nr if worker.respond_to?(:nr)), min_threads: 1, max_threads: 1,
          preload: server.preload_app ? 1 : 0
        }
      end
    end
  end
end
