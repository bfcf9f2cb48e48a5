# frozen_string_literal: true

# The agent. An application that names the gem may be started with the agent injected as well: the first copy wins.
unless defined?(Powerband::Recorder)
  require_relative "powerband/version"
  require_relative "powerband/native"
  require_relative "powerband/config"
  require_relative "powerband/extension"
  require_relative "powerband/recorder"
  require_relative "powerband/middleware"
  require_relative "powerband/puma_hooks"

  # Records where the time of each request goes into the process's flight file (contract/flight-v1.md).
  module Powerband
    @said = {}

    class << self
      def config
        @config ||= Config.new
      end

      # An error of ours: counted in the flight file, and said once in a process.
      def fault(consequence, error)
        Native.fault
        say("#{consequence}: #{error.class}: #{error.message}")
      end

      # Each message once, children of a fork included; never at the application's cost: standard error may be closed,
      # or nobody may read it any more.
      def say(message)
        return if @said[message]

        @said[message] = true
        $stderr.puts "powerband: #{message}" # rubocop:disable Style/StderrPuts
      rescue IOError, SystemCallError
        nil
      end
    end

    config.errors.each { |message| say(message) }
    if config.enabled?
      reason = Extension.load
      say("does nothing here: #{reason}") if reason
    end
  end
  require_relative "powerband/railtie" if defined?(Rails::Railtie)
end
