# frozen_string_literal: true

require_relative "flight_about"
require_relative "flight_layout"
require_relative "flight_pools"

module Powerband
  # What one flight file has counted, read without its ring (contract/flight-v1.md): for sums over processes.
  # Any bytes whatever are safe.
  class FlightFile
    COUNTERS = %i[requests server_errors queue_ns queue_known wall_ns held_ns gvl_wait_ns lock_wait_ns io_ns cpu_ns
                  gc_ns allocations yields].freeze
    MORE = %i[gc_own_ns gc_cpu_ns sql_ns sql_gvl_ns http_ns http_gvl_ns cache_ns cache_gvl_ns redis_ns redis_gvl_ns
              pool_ns pool_gvl_ns sql_count http_count cache_count redis_count pool_count gc_count parse_ns write_ns
              server_held_ns server_gvl_wait_ns busy_sum spans_known].freeze
    NAMED = (COUNTERS + MORE + FlightLayout::STATUSES + FlightLayout::EDGES_NS.keys).freeze
    BUCKETS = 128
    # A row holds the named counters, then the histograms of wall, GVL wait and queue time.
    WALL, GVL_WAIT, QUEUE = Array.new(3) { |i| (NAMED.size + (i * BUCKETS))...(NAMED.size + ((i + 1) * BUCKETS)) }
    ROW = NAMED.size + (3 * BUCKETS)

    MEASURED = 1
    FIBERS = 2
    # Under a fiber scheduler requests share a thread: its times belong to no request, and calls are not seen.
    OF_FIBERS = %w[wall_ns queue_ns busy_threads status].freeze

    Entry = Struct.new(:name, :row)
    # What a process counts outside its requests; each file is one start.
    Process = Struct.new(:faults, :clock_skew, :endpoints_lost, :gc_runs, :gc_pause_ns, :gc_cpu_ns, :starts)

    attr_reader :path, :pid, :start_ticks, :created_mono_ns, :flags, :origin, :in_flight, :process, :totals, :entries,
                :pools, :about

    class << self
      # The application that a root folder is of, whichever its release: deployments put each into a folder of its own.
      # A file has room for 127 bytes of the root.
      def application_of(root)
        root = root.byteslice(0, 127).scrub("")
        root[%r{\A(.+)/releases/[^/]+\z}, 1] || root
      end

      # The file's counters. `buffer` is a string that is written over.
      #
      # Raises FlightLayout::Unusable, FlightLayout::BeingMade, or SystemCallError where the system is at fault.
      def read(path, buffer = +"")
        # A pipe is not waited for and no link followed.
        File.open(path, File::RDONLY | File::NONBLOCK | File::NOFOLLOW) do |file|
          raise FlightLayout::Unusable, "#{path} is not a regular file" unless file.stat.file?

          new(file, buffer)
        end
      rescue Errno::ELOOP, Errno::ENXIO, EOFError
        raise FlightLayout::Unusable, "#{path} is not a regular file, or it was cut while it was read"
      end
    end

    def initialize(file, buffer)
      @path = file.path
      @layout = FlightLayout.new(fetch(file, FlightLayout::HEAD, 0, buffer))
      @bytes = fetch(file, @layout.counters_end, 0, buffer)
      read_header
      @measured = measured
      @totals = counters(section(@layout.totals, @layout.totals_size), 128)
      @entries = read_entries
      @pools = FlightPools.read(*@pool) { |length, offset| fetch(file, length, offset, +"") }
    ensure
      @bytes = nil
    end

    # Its process is still at work, as far as the file knows.
    def open?
      @layout.live?
    end

    def application
      self.class.application_of(@about.app_root)
    end

    def wide?
      @layout.wide?
    end

    # The agent measures this field of the record in this process.
    def measures?(field)
      @measured.include?(field)
    end

    # What stays is what concerns the process.
    def forget_rows
      tap { @entries = @totals = nil }
    end

    private

    def fetch(file, length, offset, buffer)
      length = [length, file.size - offset].min
      length.positive? ? file.pread(length, offset, buffer) : buffer.clear
    end

    def section(offset, length)
      part = @bytes.byteslice(offset, length).to_s
      raise FlightLayout::Unusable, "it was cut off before byte #{offset + length}" if part.bytesize < length

      part
    end

    def read_header
      head = section(0, FlightLayout::HEAD)
      @pid, @start_ticks, @created_mono_ns, @flags = head.unpack("x72L<x4Q<x8Q<x20L<")
      @about = FlightAbout.read(head) { |offset, length| text(offset, length) }
      _, faults, skew, lost, @in_flight, *others = head.unpack("x384Q<9L<2Q<")
      @process = Process.new(faults, skew, lost, *others.first(3), 1)
      @pool = others.drop(3)
      @origin = Liveness::Origin.of(section(480, 24))
    end

    def measured
      table = section(@layout.fields, @layout.field_count * FlightLayout::FIELD)
      fields = Array.new(@layout.field_count) { |i| table.unpack("@#{i * FlightLayout::FIELD}Z24x6S<") }
      names = fields.filter_map { |name, flags| name if flags.allbits?(MEASURED) }
      @flags.anybits?(FIBERS) ? names & OF_FIBERS : names
    end

    # The named counters of a section, whose newer part lies `apart` bytes after its beginning.
    def counters(bytes, apart)
      bytes.unpack("Q<13") + (wide? ? bytes.unpack("@#{apart}Q<31") : [0] * (NAMED.size - COUNTERS.size))
    end

    def read_entries
      size = @layout.endpoint_size
      present = [[@bytes.bytesize - @layout.endpoints, 0].max / size, @layout.endpoint_capacity].min
      Array.new(present) { |i| entry(@layout.endpoints + (i * size), size) }.compact
    end

    # Entries that were not requested are left out.
    def entry(at, size)
      requests, named = @bytes.unpack("@#{at}Q<x240Q<")
      Entry.new(text(at + 128, 120), row(@bytes.byteslice(at, size))) unless named.zero? || requests.zero?
    end

    def row(entry)
      counters(entry, 1280) + entry.unpack("@256L<256") + (wide? ? entry.unpack("@1536L<128") : Array.new(BUCKETS, 0))
    end

    def text(offset, length)
      @bytes.byteslice(offset, length).to_s.unpack1("Z*").force_encoding(Encoding::UTF_8).scrub
    end
  end
end
