# frozen_string_literal: true

# Answers how often it was called.
calls = 0
run ->(_) { [200, { "content-type" => "text/plain" }, [(calls += 1).to_s]] }
