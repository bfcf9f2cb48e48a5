# frozen_string_literal: true

run lambda { |env|
  raise "on purpose" if env["PATH_INFO"] == "/raise"

  [200, { "content-type" => "text/plain" }, ["hello"]]
}
