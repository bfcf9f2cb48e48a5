# frozen_string_literal: true

module Powerband
  # Hooks into the start of Passenger: a process, forked from a preloader or started directly, makes the handler of its
  # requests after the application is loaded, as the user that it serves as.
  module PassengerHooks
    # Prepended to PhusionPassenger::RequestHandler.
    module RequestHandler
      def initialize(owner_pipe, options = {})
        super(owner_pipe, PassengerHooks.starting(options))
      end
    end

    class << self
      # The options with the application wrapped.
      def starting(options)
        mark
        app = options["app"]
        wrapped = Middleware === app ? app : Middleware.new(app) # rubocop:disable Style/CaseEquality
        Powerband.setup&.serving(wrapped, :passenger) { |out_of_band| Setup::Servers.into_passenger(wrapped, out_of_band) }
        Recorder.start(settings(options))
        options.merge("app" => wrapped)
      rescue StandardError => e
        Powerband.fault("the application is not measured", e)
        options
      end

      private

      # Passenger's core has read and parsed the request by then, in a process of its own.
      def mark
        ServerSpans.mark(::PhusionPassenger::RequestHandler::ThreadHandler, :process_request)
      rescue StandardError => e
        Powerband.fault("Passenger's writing is not measured", e)
      end

      # Passenger resizes its pool of processes at will: their number is unknown. The paid edition has threads.
      def settings(options)
        threads = options["concurrency_model"] == "thread" ? options["thread_count"].to_i : 1
        {
          server_name: "passenger #{::PhusionPassenger::VERSION_STRING}", min_threads: threads, max_threads: threads,
          preload: options["spawn_method"] == "direct" ? 0 : 1
        }
      end
    end
  end
end
