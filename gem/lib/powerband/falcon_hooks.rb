# frozen_string_literal: true

module Powerband
  # Hooks into the start of Falcon: a process of its container is about to make a server, and the application is put into it.
  module FalconHooks
    # Prepended to Falcon::Service::Server.
    module Service
      def run(instance, evaluator)
        FalconHooks.starting(instance, evaluator)
        super
      end
    end

    # Prepended to Falcon::Server, whose class builds what handles requests.
    module Server
      # Prepended to its singleton class.
      module Builder
        def middleware(rack_app, **)
          super(FalconHooks.wrapped(rack_app), **)
        end
      end

      def self.prepended(server)
        server.singleton_class.prepend(Builder)
      end
    end

    class << self
      # The application is not loaded yet.
      def starting(instance, evaluator)
        Powerband.setup&.before_application
        @settings = settings(instance, evaluator)
      rescue StandardError => e
        Powerband.fault("Falcon's settings cannot be read", e)
      end

      # The flight file says what the application has loaded.
      def wrapped(rack_app)
        Recorder.start(@settings) if @settings
        app = Middleware === rack_app ? rack_app : Middleware.new(rack_app) # rubocop:disable Style/CaseEquality
        Powerband.setup&.serving(app, :falcon) do
          raise Setup::Refused, "Falcon has no moment at which a process is known to serve nothing"
        end
        app
      rescue StandardError => e
        Powerband.fault("the application is not measured", e)
        rack_app
      end

      private

      # Each process has one thread, whose fibers serve any number of requests, and has loaded the application by itself. Threads
      # of a container are no processes.
      def settings(instance, evaluator)
        forked = instance.class.name.include?("Forked")
        count = evaluator.container_options[:count] || ::Async::Container.processor_count if forked
        { server_name: "falcon #{::Falcon::VERSION}", workers: count, min_threads: 1, max_threads: 1, preload: 0 }
      end
    end
  end
end
