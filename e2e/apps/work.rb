# frozen_string_literal: true

# The two things that the requests of these applications are made of. Amounts are in milliseconds and come from the
# environment, so that a test can ask for another known answer.
module Work
  module_function

  # Keeps the GVL for so much of this thread's own CPU time. Measured by the thread's clock and not by the wall, because
  # on a busy machine the same work must stay the same work; reading the clock does not release the GVL.
  def hold(amount_ms)
    ends_at = cpu_ms + amount_ms
    nil while cpu_ms < ends_at
  end

  # Waits without the GVL, as for a database or an upstream that takes as long however many ask.
  def wait(amount_ms)
    sleep(amount_ms / 1000.0)
  end

  def setting(name, default)
    Float(ENV.fetch(name, default))
  end

  def answer(text = "done\n", status: 200)
    [status, { "content-type" => "text/plain", "content-length" => text.bytesize.to_s }, [text]]
  end

  def cpu_ms
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond)
  end
end
