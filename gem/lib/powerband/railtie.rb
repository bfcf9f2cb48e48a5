# frozen_string_literal: true

module Powerband
  # Puts the middleware at the top of a Rails application that serves. In a console, a script, any other command of
  # Rails', a Rake task or a test there is nothing to measure, and nothing is said.
  class Railtie < ::Rails::Railtie
    initializer "powerband.middleware" do |app|
      if Railtie.serving?
        Powerband.await_servers
        app.middleware.insert_before(0, Powerband::Middleware) if Powerband.config.enabled? && Native.available?
      end
    rescue StandardError, ScriptError => e
      Powerband.fault("the application is not measured", e)
    end

    def self.serving?
      !(defined?(::Rails::Console) || other_command? || ::Rails.env.test? || rake?)
    end

    # Of the commands of `bin/rails` only the one that was given is loaded.
    def self.other_command?
      commands = Calls.constant(%i[Rails Command])&.constants.to_a.grep(/Command\z/)
      commands.any? && !commands.include?(:ServerCommand)
    end

    def self.rake?
      defined?(::Rake) && ::Rake.respond_to?(:application) && ::Rake.application.top_level_tasks.any?
    end
  end
end
