# frozen_string_literal: true

# A trivial application: all that it costs is the server's and the agent's.
if ENV["AGENT_BENCH_ARM"] == "usual"
  require_relative "arms"
  use Arms::Usual
end
run ->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] }
