# frozen_string_literal: true

require "powerband"

map("/metrics") { run Powerband::Metrics.new }
run ->(_) { [200, { "content-type" => "text/plain" }, ["hello"]] }
