# frozen_string_literal: true

# AGENT_BENCH_SO is the compiled native part; the agent itself is only loaded where it is the arm.
require ENV.fetch("AGENT_BENCH_SO")

# Who is compared, in the measured processes: no agent, Powerband's, and the usual way.
module Arms
  NAMES = %w[none powerband usual].freeze

  # The usual way: a timer, and with it a hook, added and removed around each request; what it says of each is kept, as a
  # reporter would.
  class Usual
    def initialize(app)
      @app = app
      @last = {}
    end

    def call(env)
      timer = AgentBench.usual_start
      begin
        @app.call(env)
      ensure
        @last[Thread.current] = AgentBench.usual_stop(timer)
      end
    end
  end

  # The application as the arm would serve it.
  def self.wrap(name, app)
    case name
    when "none" then app
    when "usual" then Usual.new(app)
    when "powerband"
      require "powerband"
      Powerband::Recorder.start(server_name: "bench") || abort("the agent does not record")
      Powerband::Middleware.new(app)
    end
  end
end
