# frozen_string_literal: true

module Powerband
  # The flight file of this process, made as the server starts, or at the first request where no server told us.
  module Recorder
    @at_exit = false
    @given_up_in = nil

    class << self
      # Makes this process's file; true when it records. Never raises: the application must start without us too.
      def start(server = {})
        return false unless Powerband.config.enabled? && Native.available?
        return false if @given_up_in == Process.pid

        Native.open(settings.merge(server))
        close_at_exit
        true
      rescue StandardError => e
        @given_up_in = Process.pid
        Powerband.fault("nothing is recorded in process #{Process.pid}", e)
        false
      end

      # For servers that we have no hook in: what is known is the name.
      def start_late
        return false if @given_up_in == Process.pid

        start(server_name: guess_server)
      end

      private

      def settings
        {
          root: Powerband.config.root, ring_capacity: Powerband.config.ring_capacity, ruby_version: RUBY_VERSION,
          agent_version: VERSION, framework: framework, app_root: app_root
        }
      end

      def framework
        defined?(::Rails::VERSION::STRING) ? "rails #{::Rails::VERSION::STRING}" : ""
      end

      def app_root
        root = ::Rails.root if defined?(::Rails) && ::Rails.respond_to?(:root)
        (root || Dir.pwd).to_s
      end

      def guess_server
        return "passenger" if defined?(::PhusionPassenger)
        return "unicorn" if defined?(::Unicorn::HttpServer)

        ""
      end

      # Inherited by forked children, where Native.close does what is right for their own file.
      def close_at_exit
        return if @at_exit

        @at_exit = true
        at_exit { Native.close }
      end
    end
  end
end
