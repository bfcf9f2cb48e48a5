# frozen_string_literal: true

# Serves DIES_AFTER requests and ends its process with status 7 in the middle of the next one: a server that dies during
# a trial. In a cluster only that worker dies, and Puma starts another with a count of its own.
require_relative "../work"

left = Integer(ENV.fetch("DIES_AFTER", 20))
counting = Mutex.new

run(lambda do |_env|
  counting.synchronize do
    exit!(7) if left.zero?
    left -= 1
  end
  Work.answer
end)
