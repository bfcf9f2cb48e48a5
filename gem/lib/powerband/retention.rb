# frozen_string_literal: true

module Powerband
  # Removes what processes that are gone have left in the folder of flight files, by age and by size, when a process has
  # opened its own. Several may do so at once: what another has removed is no longer there, and nothing more.
  class Retention
    # The names that contract/flight-v1.md, events-v1.md and setup-v1.md give; nothing else in the folder is ours.
    NAME = /\A(?:(?<stem>(?<pid>\d+)-(?<start>\d+)-\h{8})\.(?<kind>flight|events(?:-\h{16})?|bursts)
              |(?<stem>setup-(?<pid>\d+)-(?<start>\d+))\.(?<kind>json(?:-\h{8})?))\z/x
    MAGIC = "PBFLIGHT"
    # A start must not wait for a folder of any size: what is left over is the next process's.
    AT_MOST_S = 0.2

    # All files of one process, and when it last gave a sign of life.
    Remains = Struct.new(:paths, :bytes, :last_s)

    # `own` is the path of the file that this process writes.
    def initialize(own, keep_s:, keep_bytes:)
      @folder = File.dirname(own)
      @own = File.basename(own)[NAME, :stem]
      @keep_s = keep_s
      @keep_bytes = keep_bytes
    end

    def sweep
      return if [@keep_s, @keep_bytes].all?(Float::INFINITY)

      @ends = now + AT_MOST_S
      youngest_first = remains.sort_by { |one| -one.last_s }
      oldest_s = Time.now.to_f - @keep_s
      bytes = 0
      youngest_first.reject { |one| (bytes += one.bytes) <= @keep_bytes && one.last_s >= oldest_s }
                    .reverse.then { |doomed| remove(doomed.flat_map(&:paths)) }
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def remains
      found = {}
      # Without /proc, in a chroot, everybody would seem to be gone.
      return [] unless start_of(Process.pid)

      Dir.each_child(@folder) do |name|
        break if now > @ends

        match = NAME.match(name)
        add(found, match, File.join(@folder, name)) if match && dead?(match)
      end
      found.values
    end

    def add(found, match, path)
      stat = File.lstat(path)
      return unless stat.file? && stat.owned?

      last_s = [stat.mtime.to_f]
      if match[:kind] == "flight"
        return if File.binread(path, MAGIC.bytesize) != MAGIC

        last_s << last_arrival_s(path)
      end
      count(found[match[:stem]] ||= Remains.new([], 0, 0.0), path, stat.size, last_s.max)
    rescue Errno::ENOENT
      nil # removed by another process meanwhile
    end

    def count(one, path, bytes, last_s)
      one.paths << path
      one.bytes += bytes
      one.last_s = [one.last_s, last_s].max
    end

    # A pid is used again, and stays after Puma's restart by exec: this process's other files are those of what it was.
    # What it reports of its set-up it writes anew.
    def dead?(match)
      return match[:stem] != @own if match[:pid].to_i == Process.pid && !match[:kind].start_with?("json")

      start_of(match[:pid]) != match[:start]
    end

    # Field 22; the command, which is field 2, may hold spaces and brackets.
    def start_of(pid)
      File.read("/proc/#{pid}/stat").rpartition(")").last.split[19]
    rescue Errno::ENOENT, Errno::ESRCH
      nil
    end

    # A mapped file's time of change says little: on a tmpfs it is that of its making.
    def last_arrival_s(path)
      File.open(path, "rb") do |file|
        header = file.read(Header::SIZE).to_s
        return 0.0 if header.bytesize < Header::SIZE

        Header.last_arrival_s(header) { |offset| file.pread(8, offset) }
      end
    rescue EOFError, RangeError, ZeroDivisionError, Errno::EINVAL, Errno::EOVERFLOW
      0.0
    end

    # What flight files have counted stays in the metrics.
    def remove(paths)
      flights, others = paths.partition { |path| path.end_with?(".flight") }
      gone = flights.empty? ? [] : Metrics::Carried.retire(@folder, flights) { now <= @ends }
      stay = (flights - gone).map { |path| path.delete_suffix(".flight") }
      others.each { |path| unlink(path) unless path.start_with?(*stay) }
    end

    def unlink(path)
      File.unlink(path)
    rescue Errno::ENOENT
      nil
    end

    # The few fields of the header that are needed here.
    module Header
      SIZE = 4096

      def self.last_arrival_s(header)
        record_size, capacity, ring = header.unpack("@16L<L<Q<")
        written = header.unpack1("@384Q<")
        return header.unpack1("@88Q<") / 1e9 if written.zero?

        yield(ring + ((written - 1) % capacity * record_size) + 8).unpack1("Q<") / 1e9
      end
    end
    private_constant :Header, :Remains
  end
end
