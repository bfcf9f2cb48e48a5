# frozen_string_literal: true

# Known answer: fewer threads than the GVL split suggests. The same request as `mixed`, but the second half of its
# waiting happens under one lock of the whole process, as with a pool of one connection: no more than one request per
# WAIT_MS / 2 can pass, 133 a second where the GVL would let 200 pass, which 20 ms / 7.5 ms = 2.7 threads reach.
require_relative "../work"

held_ms = Work.setting("HELD_MS", 5)
wait_ms = Work.setting("WAIT_MS", 15)
lock = Mutex.new

run(lambda do |_env|
  Work.hold(held_ms / 2)
  Work.wait(wait_ms / 2)
  Work.hold(held_ms / 2)
  lock.synchronize { Work.wait(wait_ms / 2) }
  Work.answer
end)
