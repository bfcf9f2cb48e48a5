# frozen_string_literal: true

# A thread that spins for as long as the block runs, so that a thread that comes back from waiting has to wait for
# the GVL.
module Neighbour
  # On Ruby 3.2 the end of a thread that the main thread has joined may wake the main thread once more: its next sleep ends at
  # once, and what is left of its time passes in the wait for the GVL. The sleep here is the one that ends.
  def beside_a_spinning_thread
    sleep(0.001)
    spinning = true
    thread = Thread.new { nil while spinning }
    yield
  ensure
    spinning = false
    thread&.join
  end
end
