# frozen_string_literal: true

# Reads a flight file for the tests: takes sections from the header and fields from the field table, as
# contract/flight-v1.md asks of any reader.
class FlightReader
  COUNTERS = %i[requests server_errors queue_ns queue_known wall_ns held_ns gvl_wait_ns lock_wait_ns io_ns cpu_ns
                gc_ns allocations yields].freeze
  MORE = %i[gc_own_ns gc_cpu_ns sql_ns sql_gvl_ns http_ns http_gvl_ns cache_ns cache_gvl_ns redis_ns redis_gvl_ns
            pool_ns pool_gvl_ns sql_count http_count cache_count redis_count pool_count gc_count parse_ns write_ns
            server_held_ns server_gvl_wait_ns busy_sum spans_known].freeze
  STATUSES = %i[status_1xx status_2xx status_3xx status_4xx status_5xx].freeze
  EDGES = %i[wall_up_to_75ms wall_up_to_250ms].freeze
  SAMPLE = %i[sequence mono_ns size connections busy dead idle waiting pool].freeze
  COLLECTION = %i[start_mono_ns end_mono_ns pause_ns sweeping_ns longest_ns cpu_ns number pauses thread_id kind major_by cause
                  flags live_before live_after old_before old_after freed pages_before pages_after malloc_increase
                  oldmalloc_increase].freeze
  LOCK = %i[first_mono_ns waits wait_ns longest_wait_ns holds held_ns longest_held_ns objects kind site].freeze
  HEADER = {
    version: [8, "L<"], header_size: [12, "L<"], record_size: [16, "L<"], ring_capacity: [20, "L<"],
    ring_offset: [24, "Q<"], field_count: [32, "L<"], field_table_offset: [36, "L<"], endpoint_offset: [40, "Q<"],
    endpoint_size: [48, "L<"], endpoint_capacity: [52, "L<"], totals_offset: [56, "Q<"], totals_size: [64, "L<"],
    state: [68, "L<"], pid: [72, "L<"], parent_pid: [76, "L<"], start_ticks: [80, "Q<"],
    created_wall_ns: [88, "Q<"], created_mono_ns: [96, "Q<"], worker_index: [104, "l<"],
    server_workers: [108, "L<"], server_min_threads: [112, "L<"], server_max_threads: [116, "L<"],
    server_preload: [120, "L<"], flags: [124, "L<"], ruby_version: [128, "Z32"], server_name: [160, "Z32"],
    framework: [192, "Z32"], agent_version: [224, "Z32"], app_root: [256, "Z128"], written: [384, "Q<"],
    faults: [392, "Q<"], clock_skew: [400, "Q<"], endpoints_lost: [408, "Q<"], in_flight: [416, "Q<"],
    gc_runs: [424, "Q<"], gc_pause_ns: [432, "Q<"], gc_cpu_ns: [440, "Q<"], pool_offset: [448, "Q<"],
    pool_sample_size: [456, "L<"], pool_capacity: [460, "L<"], pool_written: [464, "Q<"], trace_request: [472, "Q<"],
    pid_namespace: [480, "Q<"], boot_id: [488, "a16"], about_offset: [504, "L<"], about_size: [508, "L<"],
    arm: [2048, "Z64"], allocator: [2112, "Z32"], jit: [2144, "Z16"],
    variables_offset: [2192, "L<"], variables_size: [2196, "L<"], variables: [2816, "Z1280"]
  }.freeze
  FORMATS = { 8 => "Q<", 4 => "L<", 2 => "S<", 1 => "C" }.freeze
  UNKNOWN = 0xFFFFFFFF

  Field = Struct.new(:name, :offset, :bytes, :unit, :flags)
  Endpoint = Struct.new(:index, :name, :counters, :wall_histogram, :gvl_wait_histogram, :queue_histogram)

  attr_reader :header, :fields

  # Every flight file of a user under a root.
  def self.all(root, uid: Process.uid)
    Dir[File.join(root, uid.to_s, "*.flight")].sort.map { |path| new(File.binread(path)) }
  end

  def initialize(bytes)
    raise ArgumentError, "no flight file" unless bytes.start_with?("PBFLIGHT")

    @bytes = bytes
    @header = HEADER.transform_values { |(offset, format)| at(offset, format) }
    @fields = Array.new(header[:field_count]) do |i|
      Field.new(*@bytes.byteslice(header[:field_table_offset] + (i * 32), 32).unpack("Z24S<S<S<S<"))
    end
  end

  def [](name)
    header.fetch(name)
  end

  def totals
    offset = header[:totals_offset]
    counters(offset).merge(header[:totals_size] >= 384 ? more(offset + 128) : {})
  end

  def endpoints
    (0...header[:endpoint_capacity]).filter_map do |index|
      offset = header[:endpoint_offset] + (index * header[:endpoint_size])
      next unless at(offset + 248, "Q<") == 1

      wide = header[:endpoint_size] >= 2048
      Endpoint.new(index, at(offset + 128, "Z120"), counters(offset).merge(wide ? more(offset + 1280) : {}),
                   buckets(offset + 256), buckets(offset + 768), wide ? buckets(offset + 1536) : {})
    end
  end

  # The readable records in order, each a hash of field name => value.
  def records
    last = header[:written]
    first = [0, last - header[:ring_capacity]].max
    (first...last).filter_map do |k|
      offset = header[:ring_offset] + ((k % header[:ring_capacity]) * header[:record_size])
      next if offset + header[:record_size] > @bytes.bytesize || at(offset, "Q<") != k + 1

      fields.to_h { |field| [field.name.to_sym, at(offset + field.offset, FORMATS.fetch(field.bytes))] }
    end
  end

  # The readable pool samples in order.
  def pool_samples
    last = header[:pool_written]
    ([0, last - header[:pool_capacity]].max...last).filter_map do |k|
      offset = header[:pool_offset] + ((k % header[:pool_capacity]) * header[:pool_sample_size])
      sample = SAMPLE.zip(@bytes.unpack("Q<2S<7", offset:)).to_h
      sample if sample[:sequence] == k + 1
    end
  end

  # The state of Ruby's heap, if there is one.
  def heap
    offset, size = place_of_heap
    return if size.zero? || at(offset, "Q<").zero? || at(offset, "Q<") != at(offset + size - 8, "Q<")

    mono_ns, page_bytes, pools, *counts = @bytes.unpack("Q<L<2Q<4", offset: offset + 8)
    { mono_ns:, page_bytes:, **%i[pages live_slots free_slots old_objects].zip(counts).to_h,
      pools: Array.new(pools) { |i| heap_pool(offset + 64 + (i * 24)) } }
  end

  def place_of_heap
    header[:about_size] >= 120 ? @bytes.unpack("L<2", offset: header[:about_offset] + 112) : [0, 0]
  end

  # The readable collections in order; nil where this file has no log of them.
  def collections
    offset, size, capacity, written = places_of_collections
    return if offset.zero?

    ([0, written - capacity].max...written).filter_map { |k| collection(offset + ((k % capacity) * size), k + 1) }
  end

  # Where their log lies, how long an entry is, how many are kept, and how many were written.
  def places_of_collections
    header[:about_size] >= 144 ? @bytes.unpack("Q<L<2Q<", offset: header[:about_offset] + 120) : [0] * 4
  end

  # The rows of locks that are in use, by row; nil where this file has none.
  def locks
    offset, size, capacity = place_of_locks
    return if offset.zero?

    (0...capacity).to_h { |row| [row, lock(row, offset + (row * size))] }.compact
  end

  # Where they lie, how long a row is, and how many there are.
  def place_of_locks
    header[:about_size] >= 168 ? @bytes.unpack("Q<L<2", offset: header[:about_offset] + 152) : [0] * 3
  end

  def endpoint_of(record)
    endpoints.find { |endpoint| endpoint.index == record[:endpoint] }.name
  end

  private

  def at(offset, format)
    @bytes.unpack1(format, offset:)
  end

  def collection(offset, expected)
    writing, sequence, *fields = @bytes.unpack("Q<8L<3C4Q<5L<2Q<2", offset:)
    return unless writing.positive? && writing == at(offset + 152, "Q<") && sequence == expected

    COLLECTION.zip(fields).to_h.merge(sequence:)
  end

  # Row 0 is of what had no row and has no name.
  def lock(row, offset)
    named, *fields, site = @bytes.unpack("Q<8L<Cx3Z120", offset:)
    in_use = row.zero? ? fields[1].positive? : named == 1
    LOCK.zip(fields.push(site.force_encoding("UTF-8"))).to_h if in_use
  end

  def heap_pool(offset)
    slot_bytes, _, slots, live = @bytes.unpack("L<2Q<2", offset:)
    { slot_bytes:, slots:, live_slots: (live unless live == 0xFFFFFFFFFFFFFFFF) }
  end

  def counters(offset)
    COUNTERS.each_with_index.to_h { |name, i| [name, at(offset + (i * 8), "Q<")] }
  end

  def more(offset)
    names = MORE
    names += STATUSES if header[:flags].anybits?(8)
    names += EDGES if header[:flags].anybits?(16)
    names.each_with_index.to_h { |name, i| [name, at(offset + (i * 8), "Q<")] }
  end

  def buckets(offset)
    counts = @bytes.byteslice(offset, 512).unpack("L<*")
    counts.each_with_index.filter_map { |count, bucket| [bucket, count] if count.positive? }.to_h
  end
end
