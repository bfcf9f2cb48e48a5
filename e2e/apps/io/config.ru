# frozen_string_literal: true

# Known answer: many threads a process (T* = 1 + 30/0.3, about 100). Hardly any Ruby work, then one long wait.
require_relative "../work"

held_ms = Work.setting("HELD_MS", 0.3)
wait_ms = Work.setting("WAIT_MS", 30)

run(lambda do |_env|
  Work.hold(held_ms)
  Work.wait(wait_ms)
  Work.answer
end)
