# frozen_string_literal: true

# The cost of recording one request, in a separate process: ARM REQUESTS; prints a JSON object. Stretches with and without
# the arm take turns, so that both see the same machine; `server` adds what Puma's hook does around the application.
require_relative "arms"
require "json"

arm = ARGV[0]
count = Integer(ARGV[1])
body = ["ok"].freeze
bare = ->(_env) { [200, { "content-type" => "text/plain" }, body] }
wrapped = Arms.wrap(arm, bare)
env = {
  "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/123456/lines", "QUERY_STRING" => "", "HTTP_HOST" => "127.0.0.1",
  "HTTP_X_REQUEST_START" => "t=#{(Time.now.to_f * 1e6).to_i}", "SERVER_PORT" => "80", "rack.url_scheme" => "http"
}

def stretch(count, &block)
  objects = GC.stat(:total_allocated_objects)
  began = AgentBench.thread_cpu_ns
  count.times(&block)
  [AgentBench.thread_cpu_ns - began, GC.stat(:total_allocated_objects) - objects].map { |figure| figure.fdiv(count) }
end

arms = { "bare" => proc { bare.call(env) }, "wrapped" => proc { wrapped.call(env) } }
if arm == "powerband"
  arms["served"] = proc do
    Powerband::Native.server_start
    wrapped.call(env)
    Powerband::Native.server_finish
  end
end
arms.each_value { |call| stretch(count / 10, &call) }
figures = arms.transform_values { [] }
30.times { arms.to_a.shuffle.each { |name, call| figures[name] << stretch(count / 30, &call) } }
medians = figures.transform_values { |pairs| pairs.transpose.map { |values| values.sort[values.size / 2] } }
puts JSON.generate(medians)
