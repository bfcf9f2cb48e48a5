# frozen_string_literal: true

# Runs five threads whatever it is told; see config/puma.rb. A trial of another number has to fail with that reason.
require_relative "../work"

run(lambda do |_env|
  Work.wait(5)
  Work.answer
end)
