# frozen_string_literal: true

module Powerband
  # Removes what processes that are gone have left in the folder of flight files, by age and by size, when a process has
  # opened its own. Several may do so at once: a file that another has removed is no error.
  class Retention
    # The names that contract/flight-v1.md, events-v1.md and setup-v1.md give; nothing else in the folder is ours.
    NAME = /\A(?:(?<stem>(?<pid>\d+)-(?<start>\d+)-\h{8})\.(?<kind>flight|events(?:-\h{16})?|survivors(?:-\h{16})?|bursts)
              |(?<stem>setup-(?<pid>\d+)-(?<start>\d+))\.(?<kind>json(?:-\h{8})?))\z/x
    MAGIC = "PBFLIGHT"
    # A start must not wait for a folder of any size: the next process takes the rest.
    AT_MOST_S = 0.2

    # Files whose process may still run, where that cannot be seen, need so long without a sign of life.
    UNKNOWN_S = 30 * 86_400

    # All files of one process, when it last gave a sign of life, and whether it runs: :runs, :gone or :unknown.
    Remains = Struct.new(:paths, :bytes, :last_s, :state)

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
      remains = self.remains.sort_by(&:last_s).group_by(&:state)
      remove((silent(remains.fetch(:unknown, [])) + superfluous(remains.fetch(:gone, []))).flat_map(&:paths))
    end

    private

    def silent(remains)
      oldest_s = Time.now.to_f - [@keep_s, UNKNOWN_S].max
      remains.select { |one| one.last_s < oldest_s }
    end

    # Both take and return the oldest first.
    def superfluous(remains)
      oldest_s = Time.now.to_f - @keep_s
      bytes = 0
      remains.reverse.reject { |one| (bytes += one.bytes) <= @keep_bytes && one.last_s >= oldest_s }.reverse
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def remains
      found = {}
      # Without /proc, in a chroot, every process would seem to be gone.
      return [] unless Liveness.start_of("self")

      @here = Liveness.here
      Dir.each_child(@folder) do |name|
        break if now > @ends

        match = NAME.match(name)
        add(found, match, File.join(@folder, name)) if match && match[:stem] != @own
      end
      found.each_value { |one| one.state ||= state(NAME.match(File.basename(one.paths.first)), one.paths.first) }.values
    end

    def add(found, match, path)
      stat = File.lstat(path)
      return unless stat.file? && stat.owned?

      one = Remains.new([path], stat.size, stat.mtime.to_f)
      return if match[:kind] == "flight" && !flight?(one, match, path)

      join(found[match[:stem]] ||= Remains.new([], 0, 0.0), one)
    rescue Errno::ENOENT
      nil # removed by another process meanwhile
    end

    def flight?(one, match, path)
      return false if File.binread(path, MAGIC.bytesize) != MAGIC

      one.last_s = [one.last_s, last_arrival_s(path)].max
      one.state = state(match, path)
      true
    end

    # The state of the flight file holds for the files next to it.
    def join(all, one)
      all.paths.concat(one.paths)
      all.bytes += one.bytes
      all.last_s = [all.last_s, one.last_s].max
      all.state ||= one.state
    end

    def state(match, path)
      flags, origin = Recorded.of(match[:kind], path)
      return Liveness.by_lock(path, origin, @here) if flags.anybits?(Liveness::LOCKED)
      return :gone if own_before?(match, origin)

      Liveness.by_number(match[:pid].to_i, match[:start].to_i, origin, @here)
    rescue Errno::ENOENT
      :unknown # removed by another process meanwhile
    end

    # A pid stays after Puma's restart by exec: this process's other files are those of what it was. What it reports of its
    # set-up it writes anew.
    def own_before?(match, origin)
      match[:pid].to_i == Process.pid && origin == @here && !match[:kind].start_with?("json") &&
        match[:start].to_i == Liveness.start_of("self")
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

    # The flags of a flight file, and where the process of any file ran.
    module Recorded
      JSON = /"pid_namespace":(\d+),"boot_id":"(\h{32})"/

      class << self
        def of(kind, path)
          case kind
          when "flight" then [File.binread(path, 4, 124).to_s.unpack1("L<").to_i, origin(path, 480)]
          when /\Ajson/ then [0, in_json(File.binread(path, 512).to_s)]
          else [0, origin(path, 136)]
          end
        end

        private

        def origin(path, offset)
          Liveness::Origin.of(File.binread(path, 24, offset).to_s)
        end

        def in_json(text)
          namespace, boot = text.match(JSON)&.captures
          Liveness::Origin.new(namespace.to_i, [boot.to_s].pack("H*"))
        end
      end
    end
    private_constant :Header, :Recorded, :Remains
  end
end
