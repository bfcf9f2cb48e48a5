# frozen_string_literal: true

# The process's PSS in KiB once the ring is full, and after many requests more: ARM REQUESTS; prints a JSON object.
require_relative "arms"
require "json"

arm = ARGV[0]
count = Integer(ARGV[1])
app = Arms.wrap(arm, ->(_env) { [200, {}, []] })
env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/1" }
pss = lambda do
  GC.start
  File.read("/proc/self/smaps_rollup")[/^Pss:\s*(\d+)/, 1].to_i
end

20_000.times { app.call(env) }
start = pss.call
count.times { app.call(env) }
puts JSON.generate("start" => start, "end" => pss.call)
