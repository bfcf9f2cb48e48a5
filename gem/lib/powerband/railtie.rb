# frozen_string_literal: true

module Powerband
  # Puts the middleware at the top of a Rails application that serves. In a console, a Rake task or a test there is
  # nothing to measure.
  class Railtie < ::Rails::Railtie
    initializer "powerband.middleware" do |app|
      if Railtie.serving?
        require_relative "inject"
        app.middleware.insert_before(0, Powerband::Middleware)
      end
    end

    def self.serving?
      return false unless Powerband.config.enabled? && Native.available?

      !(defined?(::Rails::Console) || ::Rails.env.test? || rake?)
    end

    def self.rake?
      defined?(::Rake) && ::Rake.respond_to?(:application) && ::Rake.application.top_level_tasks.any?
    end
  end
end
