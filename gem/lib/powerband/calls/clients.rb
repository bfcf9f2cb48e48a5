# frozen_string_literal: true

module Powerband
  module Calls
    # Clients that announce nothing: each is wrapped where all of its calls pass.
    module Clients
      # Registered with redis-client, on which the redis gem stands from version 5 on and Sidekiq from 7 on.
      module Redis
        KIND = CALLS.fetch(:redis)

        def connect(_config)
          Calls.preparing(KIND) { super }
        end

        def call(_command, _config)
          Calls.around(KIND) { super }
        end

        def call_pipelined(_commands, _config)
          Calls.around(KIND) { super }
        end
      end

      class << self
        # Most others stand on it. `connect` is private and has been there for ever; in `Net::HTTP.start(host) { ... }` it
        # comes before the request, and is often the longer part.
        def net_http(client)
          return false unless client.method_defined?(:request) && client.private_method_defined?(:connect)

          wrap(client, :request, "around(#{CALLS.fetch(:http)})")
          wrap(client, :connect, "preparing(#{CALLS.fetch(:http)})")
        end

        def redis(client)
          client.respond_to?(:register) && (client.register(Redis) || true)
        end

        # `perform` is private; every operation on one key goes through it, and the blocks of `fetch` and `cas` do not.
        def dalli(client)
          return false unless client.private_method_defined?(:perform)

          %i[perform get_multi get_multi_cas].each do |name|
            there = client.method_defined?(name) || client.private_method_defined?(name)
            wrap(client, name, "around(#{CALLS.fetch(:cache)})") if there
          end
        end

        private

        def wrap(client, name, timer)
          Wrapping.wrap(client, name) { |call| "::Powerband::Calls.#{timer} { #{call} }" }
          true
        end
      end
    end
  end
end
