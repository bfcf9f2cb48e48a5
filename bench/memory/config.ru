# frozen_string_literal: true

# Answers every path at once: the benchmark measures `powerband memory`, not the application.
run(->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] })
