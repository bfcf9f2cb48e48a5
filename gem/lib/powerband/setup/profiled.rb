# frozen_string_literal: true

module Powerband
  class Setup
    # An application under Ruby's profiler of the collector, as agents that watch applications in production use it: they
    # ask for its total before and after each request, and clear it, because its records would fill the memory.
    class Profiled
      def self.snapshot
        GC::Profiler.total_time
        GC::Profiler.clear
      rescue StandardError => e
        Powerband.fault("the collector's profile is not cleared", e)
      end

      def initialize(app)
        @app = app
      end

      def call(env)
        Profiled.snapshot
        @app.call(env)
      ensure
        Profiled.snapshot
      end
    end
  end
end
