# frozen_string_literal: true

# A thread that spins for as long as the block runs, so that a thread that comes back from waiting has to wait for
# the GVL.
module Neighbour
  def beside_a_spinning_thread
    spinning = true
    thread = Thread.new { nil while spinning }
    yield
  ensure
    spinning = false
    thread&.join
  end
end
