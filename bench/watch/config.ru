# frozen_string_literal: true

# Answers every path at once: what is measured is who looks on.
run(->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] })
