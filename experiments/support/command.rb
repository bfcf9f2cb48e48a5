# frozen_string_literal: true

require "English"

# Runs a command to its end; it does not outlive its caller.
module Command
  # Options are those of Process.spawn. What it printed to its end is in the files that they name.
  def self.run(*words, **options)
    pid = Process.spawn(*words, **options)
    Process.wait(pid)
    pid = nil
    $CHILD_STATUS
  ensure
    stop(pid) if pid
  end

  # Powerband ends what it started, and then itself.
  def self.stop(pid)
    Process.kill(:TERM, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end
  private_class_method :stop
end
