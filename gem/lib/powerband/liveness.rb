# frozen_string_literal: true

module Powerband
  # Whether the process that wrote a file still runs (contract/flight-v1.md, "Whether the process runs"). A process number
  # means something only inside one PID namespace, and containers that share a folder have one each.
  module Liveness
    LOCKED = 4
    # The identity of a PID namespace and of a boot, as they lie in a header: 8 and 16 bytes, zeros where unknown.
    Origin = Struct.new(:namespace, :boot) do
      def self.of(bytes)
        new(bytes.byteslice(0, 8).to_s.unpack1("Q<").to_i, bytes.byteslice(8, 16).to_s.b)
      end

      def known?
        !namespace.zero? && boot_known?
      end

      def boot_known?
        boot.bytesize == 16 && boot.count("\0") < 16
      end
    end

    class << self
      # This process's own.
      def here
        Origin.new(File.stat("/proc/self/ns/pid").ino, boot_id(File.read("/proc/sys/kernel/random/boot_id")))
      rescue SystemCallError
        Origin.new(0, "")
      end

      # A UUID's 16 bytes.
      def boot_id(text)
        [text.delete("-").strip].pack("H*")
      end

      # :runs, :gone, or :unknown where that cannot be seen from here.
      def by_number(pid, start_ticks, origin, here = self.here)
        return :unknown unless origin.known? && origin == here && proc_of_this_namespace?

        start_of(pid) == start_ticks ? :runs : :gone
      end

      # The same from the lock that its process holds on a flight file, seen in every container of one machine.
      def by_lock(path, origin, here = self.here)
        return :runs if locked?(path)

        origin.boot_known? && origin.boot == here.boot ? :gone : :unknown
      end

      # Field 22 of /proc/<pid>/stat. The command, field 2, may hold spaces and brackets.
      def start_of(pid)
        File.read("/proc/#{pid}/stat").rpartition(")").last.split[19].to_i
      rescue Errno::ENOENT, Errno::ESRCH
        nil
      end

      # The kernel's lock goes with the process, or when it calls exec.
      def locked?(path)
        File.open(path, File::RDONLY | File::NONBLOCK | File::NOFOLLOW) do |file|
          !file.flock(File::LOCK_SH | File::LOCK_NB)
        end
      end

      private

      # A container may have the /proc of the machine.
      def proc_of_this_namespace?
        File.readlink("/proc/self").to_i == Process.pid
      rescue SystemCallError
        false
      end
    end
  end
end
