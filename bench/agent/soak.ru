# frozen_string_literal: true

# A little of everything: garbage, waiting, a body of several parts.
run lambda { |_env|
  n = rand(100)
  sleep(0.002) if n < 5
  [200, { "content-type" => "text/plain" }, Array.new(n / 10) { |i| "part #{i}\n" * 10 }]
}
