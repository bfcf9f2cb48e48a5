# frozen_string_literal: true

module Powerband
  # Records each request around the application, which is called exactly once and whose exceptions pass unchanged.
  # Two of these around one another count once: the inner one sees that the thread already serves.
  class Middleware
    def initialize(app)
      @app = app
    end

    def call(env)
      started = Native.start(env)
      started = Recorder.start_late && Native.start(env) if started.nil?
      return @app.call(env) unless started

      begin
        raised = true
        response = @app.call(env)
        raised = false
        response
      ensure
        Native.finish(env, response, raised)
      end
    end
  end
end
