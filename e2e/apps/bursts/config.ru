# frozen_string_literal: true

# Known bursts: BURSTS of work of HELD_MS with a wait of WAIT_MS between each two, by default three of 2 ms and two of 5.
# /17 always has the same ones: drawn from exponential distributions of these means by the number, which SPREAD=constant
# leaves out. What a request does follows from its path, and how long it takes from who else is there.
require_relative "../work"

bursts = Work.setting("BURSTS", 3).to_i
held_ms = Work.setting("HELD_MS", 2)
wait_ms = Work.setting("WAIT_MS", 5)
constant = ENV["SPREAD"] == "constant"

# Whole courses, so that a request draws no number.
courses = Hash.new do |known, path|
  random = Random.new(path[%r{\A/(\d+)\z}, 1].to_i)
  drawn = ->(mean) { constant ? mean : -mean * Math.log(1 - random.rand) }
  known[path] = Array.new((2 * bursts) - 1) { |nth| drawn.call(nth.even? ? held_ms : wait_ms) }
end
100.times { |number| courses["/#{number}"] }

run(lambda do |env|
  courses[env["PATH_INFO"]].each_with_index { |ms, nth| nth.even? ? Work.hold(ms) : Work.wait(ms) }
  Work.answer
end)
