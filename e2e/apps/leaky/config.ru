# frozen_string_literal: true

# Keeps LEAK_KIB of memory for each request, for ever: growth per thousand requests that has to be seen and judged.
require_relative "../work"

leak_bytes = Integer(ENV.fetch("LEAK_KIB", 64)) * 1024
kept = Queue.new

run(lambda do |_env|
  # Every byte is written, so that it is resident and not only promised.
  kept << ("x" * leak_bytes)
  Work.answer
end)
