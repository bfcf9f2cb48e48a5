# frozen_string_literal: true

module Powerband
  # Records each request around the application, which is called exactly once and whose exceptions pass unchanged.
  # Two of these around one another count once: the inner one sees that the thread already serves.
  class Middleware
    def initialize(app)
      @app = app
      Powerband.await_servers
    end

    # Puts another application around the one that is measured.
    def surround
      @app = yield @app
    end

    # An exception of another thread's (a timeout's, a forced shutdown's) may come between any two lines, and as a method
    # returns: then its answer is lost, and nil says so. A request that began is finished all the same, and only what a
    # mistake of ours can raise is rescued.
    def call(env)
      started = nil
      raised = true
      begin
        begin
          Calls.each_second if Native.pool_due?
          started = Native.start(env)
          started = Native.start(env) if started.nil? && Recorder.start_late
        rescue *MISTAKES => e
          Powerband.fault("a request is not measured", e)
        end
        response = @app.call(env)
        raised = false
        response
      ensure
        begin
          Native.finish(started, env, response, raised)
        rescue *MISTAKES => e
          Powerband.fault("a request is not measured", e)
        end
      end
    end
  end
end
