# frozen_string_literal: true

# The agent. An application that names the gem may be started with the agent injected as well: the first copy wins.
unless defined?(Powerband::Recorder)
  require_relative "powerband/version"
  require_relative "powerband/native"
  require_relative "powerband/quantity"
  require_relative "powerband/folder"
  require_relative "powerband/liveness"
  require_relative "powerband/config"
  require_relative "powerband/extension"
  require_relative "powerband/retention"
  require_relative "powerband/unrecorded"
  require_relative "powerband/wrapping"
  require_relative "powerband/calls"
  require_relative "powerband/recorder"
  require_relative "powerband/runtime"
  require_relative "powerband/middleware"
  require_relative "powerband/server_spans"
  require_relative "powerband/puma_hooks"
  require_relative "powerband/unicorn_hooks"
  require_relative "powerband/falcon_hooks"
  require_relative "powerband/passenger_hooks"
  require_relative "powerband/sidekiq_hooks"

  # Records where the time of each request goes into the process's flight file (contract/flight-v1.md).
  module Powerband
    @said = {}
    autoload :Metrics, File.join(__dir__, "powerband/metrics")

    class << self
      def config
        @config ||= Config.new
      end

      # What sets this process up for an experiment; nil where no variable asks for it.
      def setup
        return @setup if defined?(@setup)

        @setup = nil
        return unless defined?(Inject::SETUP) && Inject::SETUP.any?

        require_relative "powerband/setup"
        @setup = Setup.new
      rescue StandardError, ScriptError => e
        fault("the process is not set up as asked", e)
        nil
      end

      # An error of ours: counted in the flight file, and each kind said once in a process.
      def fault(consequence, error)
        Native.fault
        say("#{consequence}: #{error.class}: #{error.message}", about: consequence)
      rescue StandardError
        nil
      end

      # Each message once, children of a fork included; never at the application's cost: standard error may be closed,
      # or its reader gone.
      def say(message, about: message)
        return if @said[about]

        @said[about] = true
        $stderr.puts "powerband: #{message}" # rubocop:disable Style/StderrPuts
      rescue IOError, SystemCallError
        nil
      end

      # What stands against recording in this process, said where something is going to serve and nowhere else.
      def complain
        @complaints.each { |message| say(message) }
      end

      # From here on a server that is there, or that comes, notifies us when it starts.
      def await_servers
        complain unless Recorder.testing?
        require_relative "powerband/inject" if !defined?(Inject) && config.enabled? && Native.available?
      rescue StandardError, ScriptError => e
        fault("servers are not recognised", e)
      end
    end

    @complaints = config.errors.dup
    if config.enabled?
      reason = Extension.load
      @complaints << "does nothing here: #{reason}" if reason
    end
  end
  require_relative "powerband/railtie" if defined?(Rails::Railtie)
  Powerband::SidekiqHooks.install if defined?(Sidekiq::CLI)
end
