# frozen_string_literal: true

# Known answer: T* = 1 + i/c = 1 + 15/5 = 4 threads a process. HELD_MS of work and WAIT_MS of waiting, each in two equal
# parts, as in a request of two queries.
require_relative "../work"

held_ms = Work.setting("HELD_MS", 5)
wait_ms = Work.setting("WAIT_MS", 15)

run(lambda do |_env|
  2.times do
    Work.hold(held_ms / 2)
    Work.wait(wait_ms / 2)
  end
  Work.answer
end)
