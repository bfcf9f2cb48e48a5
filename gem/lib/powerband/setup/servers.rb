# frozen_string_literal: true

module Powerband
  class Setup
    # The moments that servers have for it: before the application is loaded, before a process that has loaded it forks, and
    # (in the agent's own hooks) before a process serves; and where a collection out of band is put into each.
    module Servers
      # Prepended to Puma::Runner, from which single mode, cluster and worker inherit.
      module PumaRunner
        def load_and_bind
          Powerband.setup&.before_application
          super
        end

        def app
          Powerband.setup&.before_application
          super
        end
      end

      # Prepended to Puma::Cluster.
      module PumaCluster
        def spawn_workers
          Powerband.setup&.forking(:puma) if preload?
          super
        end
      end

      # Prepended to Puma::Cluster::Worker, which forks others under `fork_worker`, the first before it serves itself.
      module PumaWorker
        private

        def spawn_worker(*)
          Powerband.setup&.forking(:puma)
          super
        end
      end

      # Prepended to Unicorn::HttpServer.
      module Unicorn
        private

        def build_app!
          Powerband.setup&.before_application
          super
        end

        def spawn_missing_workers
          if preload_app
            UnicornHooks.built(self)
            Powerband.setup&.forking(app)
          end
          super
        end
      end

      # Prepended to Pitchfork::HttpServer.
      module Pitchfork
        private

        def build_app!
          Powerband.setup&.before_application
          super
        end

        # In the mold that has loaded the application, and in each that a worker has forked: before it forks workers.
        def init_mold_process(mold)
          super.tap { Powerband.setup&.forking(mold.generation) }
        end
      end

      # Prepended to the singleton class of PhusionPassenger::LoaderSharedHelpers. Bundler is set up by then.
      module PassengerLoader
        def before_loading_app_code_step2(*)
          Powerband.setup&.before_application
          super
        end
      end

      # Prepended to the singleton class of PhusionPassenger::PreloaderSharedHelpers.
      module PassengerPreloader
        def run_main_loop(*)
          Powerband.setup&.forking(:passenger)
          super
        end
      end

      MODULES = {
        "Puma::Runner" => PumaRunner, "Puma::Cluster" => PumaCluster, "Puma::Cluster::Worker" => PumaWorker,
        "Unicorn::HttpServer" => Unicorn, "Pitchfork::HttpServer" => Pitchfork,
        "PhusionPassenger::LoaderSharedHelpers" => PassengerLoader,
        "PhusionPassenger::PreloaderSharedHelpers" => PassengerPreloader
      }.freeze

      # One of Puma's hooks. Up to version 6 Puma calls it, later it calls what it holds as its `:block`.
      class PumaOutOfBand
        def initialize(server, out_of_band)
          @server = server
          @out_of_band = out_of_band
        end

        # Puma comes here whenever no thread of the pool has a request, and calls it an error of the hook if it raises.
        def call
          @out_of_band.collect if @out_of_band.reached?(@server.requests_count)
        end

        def [](key)
          self if key == :block
        end
      end

      # Asks Passenger, in the header of an answer, to call back when this process has no request and another one serves.
      class PassengerAsks
        HEADER = "!~Request-OOB-Work"

        def initialize(app, out_of_band)
          @app = app
          @out_of_band = out_of_band
        end

        def call(env)
          response = @app.call(env)
          @out_of_band.one_more? ? asking(response) : response
        end

        private

        def asking(response)
          status, headers, body = response
          [status, headers.merge(HEADER => "true"), body]
        rescue StandardError => e
          Powerband.fault("the collector does not run out of band", e)
          response
        end
      end

      UNICORN_BODY = <<~RUBY
        begin
          %s
        ensure
          ::Powerband.setup.after_request
        end
      RUBY

      class << self
        def hook(constant, path)
          mine = MODULES[path] or return
          (path.start_with?("PhusionPassenger") ? constant.singleton_class : constant).prepend(mine)
        end

        # Before Puma makes its pool of threads, which is given the hooks.
        def into_puma(server, out_of_band)
          raise Refused, "this Puma has no out_of_band" unless ::Puma::DSL.method_defined?(:out_of_band)

          options = PumaHooks.options(server)
          present = options[:out_of_band].to_a
          return if present.any?(PumaOutOfBand)

          options[:out_of_band] = [*present, PumaOutOfBand.new(server, out_of_band)]
        end

        # A worker has one thread: after its answer is written and the connection closed, nothing is in flight. `owner`: Unicorn's
        # or Pitchfork's class.
        def into_unicorn(owner)
          Wrapping.wrap(owner, :process_client, as: "powerband_setup") { |call| format(UNICORN_BODY, call) }
        end

        def into_passenger(middleware, out_of_band)
          ::PhusionPassenger.on_event(:oob_work) { out_of_band.collect }
          middleware.surround { |app| PassengerAsks.new(app, out_of_band) }
        end
      end
    end
  end
end
