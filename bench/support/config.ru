# frozen_string_literal: true

# Answers every path at once: benchmarks measure what reads the flight files, not the application.
run(->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] })
