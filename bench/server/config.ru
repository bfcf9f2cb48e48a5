# frozen_string_literal: true

# A trivial application: what its server takes is around it.
run(->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] })
