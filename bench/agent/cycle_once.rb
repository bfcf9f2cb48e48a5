# frozen_string_literal: true

# One measurement of a GVL cycle in a separate process: ARM THREADS CYCLES; prints nanoseconds a cycle. All threads but
# the one that cycles are in the middle of a request, asleep. Of many short stretches the one that a tenth were faster than:
# for whole seconds a shared machine runs at little more than half its speed, whatever it is that runs.
require_relative "arms"

arm = ARGV[0]
threads = Integer(ARGV[1])
count = Integer(ARGV[2])
gate = Queue.new
begun = Queue.new
asleep = Arms.wrap(arm, ->(_) { begun << true; gate.pop; [200, {}, []] }) # rubocop:disable Style/Semicolon
others = Array.new(threads - 1) { Thread.new { asleep.call({}) } }
others.size.times { begun.pop }
STRETCHES = 200
each = count / STRETCHES
measured = Arms.wrap(arm, lambda do |_|
  AgentBench.cycles(count / 10)
  [200, {}, Array.new(STRETCHES) { AgentBench.cycles(each) }.sort]
end)
puts measured.call({}).last[STRETCHES / 10].fdiv(each)
others.size.times { gate << true }
others.each(&:join)
