# frozen_string_literal: true

# Known answer: one or two threads a process; more only wait for the GVL. Nothing but HELD_MS of Ruby work.
require_relative "../work"

held_ms = Work.setting("HELD_MS", 5)

run(lambda do |_env|
  Work.hold(held_ms)
  Work.answer
end)
