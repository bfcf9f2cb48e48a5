# frozen_string_literal: true

# Waiting for a state instead of for a time.
module Awaiting
  # The block's first truthy value. Asked often; the limit is only there for when the state never comes.
  def await(what, within: 60)
    ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + within
    loop do
      found = yield
      return found if found

      flunk "waited #{within} s in vain for #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
      sleep 0.02
    end
  end
end
