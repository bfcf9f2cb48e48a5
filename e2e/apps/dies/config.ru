# frozen_string_literal: true

# Serves DIES_AFTER requests and ends its process with status 7 in the middle of the next one: a server that dies during
# a trial. In a cluster only that worker dies, and Puma starts another with a count of its own. DIES_WITH_THREADS spares
# every other thread count, so that one arm of several dies. DIES_ONCE spares every process but the first that can make this file.
require_relative "../work"

left = Integer(ENV.fetch("DIES_AFTER", 20))
counting = Mutex.new
spared = ENV.key?("DIES_WITH_THREADS") && ENV["DIES_WITH_THREADS"] != ENV["RAILS_MAX_THREADS"]
wait_ms = Work.setting("WAIT_MS", 0)
once = ENV["DIES_ONCE"]
first = lambda do
  once.nil? || File.open(once, File::CREAT | File::EXCL) { true }
rescue Errno::EEXIST
  false
end

run(lambda do |_env|
  counting.synchronize do
    exit!(7) if left.zero? && first.call
    left -= 1 unless spared
  end
  Work.wait(wait_ms)
  Work.answer
end)
