# frozen_string_literal: true

# A PID namespace with its own /proc, as a container has them: words before a command that runs in a new one, or in that of a
# command.
module PidNamespace
  NEW = %w[unshare --pid --fork --mount-proc --kill-child].freeze
  # The first one of a machine, from which every process can be seen.
  FIRST = 0xEFFFFFFC

  # Why there can be none here; nil where there can.
  def self.lacks
    return "PID namespaces want root" unless Process.uid.zero?

    "this kernel or container gives no PID namespace" unless system(*NEW, "true", out: File::NULL, err: File::NULL)
  end

  # `pid` is that of a command that was started with NEW.
  def self.of(pid)
    child = File.read("/proc/#{pid}/task/#{pid}/children").split.fetch(0)
    ["nsenter", "--target", child, "--pid", "--mount"]
  end

  def self.first?
    File.stat("/proc/self/ns/pid").ino == FIRST
  end
end
