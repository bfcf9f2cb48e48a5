# frozen_string_literal: true

# WAIT_MS of waiting, and the agent's metrics at /metrics where the agent is there: a pod of a fleet.
require_relative "../work"
begin
  require "powerband"
  use Powerband::Metrics, path: "/metrics"
rescue LoadError
  # Started without the agent.
end

wait_ms = Work.setting("WAIT_MS", 10)

run(lambda do |_env|
  Work.wait(wait_ms)
  Work.answer
end)
