# frozen_string_literal: true

require "powerband"
use Powerband::Middleware
run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello"]] }
