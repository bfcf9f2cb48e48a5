# frozen_string_literal: true

# Waiting for a state instead of for a time.
module Awaiting
  # The block's first truthy value. Asked often; the limit is only there for when the state never comes. A state that a
  # command brings about (`of`, which knows its status once it has ended) comes no more when that command has ended.
  def await(what, within: 60, of: nil)
    ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + within
    loop do
      ended = of&.status
      found = yield
      return found if found

      flunk "it ended before #{what}: #{of}" if ended
      flunk "waited #{within} s in vain for #{what}: #{of}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
      sleep 0.02
    end
  end
end
