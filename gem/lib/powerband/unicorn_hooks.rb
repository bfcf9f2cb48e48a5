# frozen_string_literal: true

module Powerband
  # Hooks into the start of Unicorn, and of Pitchfork, which is a fork of it: the application is built (in the master when it
  # preloads, else in the worker; in Pitchfork's first mold), and a worker is about to serve, as the user that it serves as.
  module UnicornHooks
    # Prepended to Unicorn::HttpServer and to Pitchfork::HttpServer.
    module HttpServer
      private

      def build_app!
        super
        UnicornHooks.built(self)
      end

      def init_worker_process(worker)
        super.tap { UnicornHooks.starting(self, worker) }
      end

      # Reached, too, where the application brought the agent along while the worker was being made ready. Pitchfork's molds and
      # service processes, which have no number, come here as well and serve nothing.
      def prep_readers(readers)
        UnicornHooks.starting(self, readers.last) if UnicornHooks.serves?(readers.last)
        super
      end
    end

    class << self
      # Again after SIGHUP, when Unicorn goes back to the builder that it was started with.
      def built(server)
        mark(server)
        app = server.app
        server.app = Middleware.new(app) unless Middleware === app # rubocop:disable Style/CaseEquality
      rescue StandardError => e
        Powerband.fault("the application is not measured", e)
      end

      def serves?(worker)
        !worker.respond_to?(:nr) || !worker.nr.nil?
      end

      def starting(server, worker)
        built(server)
        Powerband.setup&.serving(server.app, prepared(server, worker)) { Setup::Servers.into_unicorn(owner(server)) }
        Recorder.start(settings(server, worker))
      rescue StandardError => e
        Powerband.fault("the server's settings cannot be read", e)
      end

      private

      def mark(server)
        ServerSpans.mark(owner(server), :process_client)
      rescue StandardError => e
        Powerband.fault("the server's parsing and writing are not measured", e)
      end

      def owner(server)
        pitchfork?(server) ? ::Pitchfork::HttpServer : ::Unicorn::HttpServer
      end

      def pitchfork?(server)
        defined?(::Pitchfork::HttpServer) && ::Pitchfork::HttpServer === server # rubocop:disable Style/CaseEquality
      end

      # What is prepared once before it is served (setup.rb): the application, under Pitchfork each generation.
      def prepared(server, worker)
        pitchfork?(server) ? worker.generation : server.app
      end

      # A worker is one thread. Where it is not given us, its number is unknown. Pitchfork always forks from a process that has
      # loaded the application.
      def settings(server, worker)
        pitchfork = pitchfork?(server)
        {
          server_name: pitchfork ? "pitchfork #{::Pitchfork::VERSION}" : "unicorn #{::Unicorn::Const::UNICORN_VERSION}",
          workers: server.worker_processes, worker_index: (worker.nr if worker.respond_to?(:nr)),
          min_threads: 1, max_threads: 1, preload: pitchfork || server.preload_app ? 1 : 0
        }
      end
    end
  end
end
