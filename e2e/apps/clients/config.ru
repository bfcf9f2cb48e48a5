# frozen_string_literal: true

# Who asks, as the application sees it: what decides about clients' addresses, and the mark of a shadow's copy.
require "json"

run(lambda do |env|
  told = env.select { |name, _| name.match?(/\AREMOTE_ADDR\z|\AHTTP_(X_|FORWARDED|CONTENT_LENGTH)/) }
  [200, { "content-type" => "application/json" }, [JSON.generate(told)]]
end)
