# frozen_string_literal: true

# Keeps LEAK_KIB of memory for each request, of LEAK_REQUESTS at most, or for ever: growth per thousand requests that has to be
# seen and judged, and where it ends.
require_relative "../work"

leak_bytes = Integer(ENV.fetch("LEAK_KIB", 64)) * 1024
most = Integer(ENV.fetch("LEAK_REQUESTS", 1 << 62))
wait_ms = Work.setting("WAIT_MS", 0)
kept = Queue.new

run(lambda do |_env|
  # Every byte is written, so that it is resident and not only promised.
  kept << ("x" * leak_bytes) if kept.size < most
  Work.wait(wait_ms) if wait_ms.positive?
  Work.answer
end)
