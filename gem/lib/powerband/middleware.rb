# frozen_string_literal: true

module Powerband
  # Records each request around the application, which is called exactly once and whose exceptions pass unchanged.
  # Two of these around one another count once: the inner one sees that the thread already serves.
  class Middleware
    def initialize(app)
      @app = app
    end

    # An exception of another thread's (a timeout's, a forced shutdown's) may come between any two lines. What was begun
    # is finished all the same, and that without a branch, where Ruby would look for such exceptions once more.
    def call(env)
      started = false
      raised = true
      begin
        started = Native.start(env)
        started = Recorder.start_late && Native.start(env) if started.nil?
        response = @app.call(env)
        raised = false
        response
      ensure
        Native.finish(started, env, response, raised)
      end
    end
  end
end
