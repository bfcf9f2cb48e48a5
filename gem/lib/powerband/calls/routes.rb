# frozen_string_literal: true

module Powerband
  module Calls
    # Passes the route that Grape took to the extension. Rails and Sinatra leave theirs in the environment.
    module Routes
      ENDPOINT = "powerband.endpoint"

      # Subscribed to Grape's notification; one name is made for each route.
      class Grape
        ROUTING = "grape.routing_args"
        FORMAT = /\(.*\)\z/ # "/orders/:id(.json)", "/orders/:id(.:format)"

        def initialize
          @names = {}.compare_by_identity
        end

        def start(_name, _id, payload)
          env = payload[:env]
          route = env[ROUTING][:route_info]
          env[ENDPOINT] = @names[route] ||= name(route) if route
        rescue *MISTAKES => e
          Powerband.fault("Grape's route is not known", e)
        end

        def finish(_name, _id, _payload); end

        private

        def name(route)
          "#{route.request_method} #{route.path.sub(FORMAT, '')}"
        end
      end

      def self.grape
        ::ActiveSupport::Notifications.subscribe("endpoint_run.grape", Grape.new)
      end
    end
  end
end
