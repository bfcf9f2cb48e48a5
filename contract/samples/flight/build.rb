# frozen_string_literal: true

# Builds the golden samples of the flight file byte by byte from contract/flight-v1.md, sharing no code
# with the agent that writes real flight files or with the crate that reads them. The `wide` samples are files as
# agent 0.1 writes them, the others as agents before 0.1 did.
#
#   ruby contract/samples/flight/build.rb [FOLDER]     (default: this folder)

require "json"

HEADER_SIZE = 4096
TOTALS_OFFSET = 4096
ENDPOINT_OFFSET = 8192
RING_CAPACITY = 64
ENDPOINT_CAPACITY = 4
FIELD_TABLE_OFFSET = 512
BUCKETS = 128
UNKNOWN = 0xFFFFFFFF

# name, offset, size, unit (0 none, 1 ns, 2 count, 3 index, 4 microseconds), flags (bit 0: measured)
NARROW_FIELDS = [
  ["sequence", 0, 8, 0, 1],
  ["arrival_wall_ns", 8, 8, 1, 1],
  ["start_mono_ns", 16, 8, 1, 1],
  ["queue_ns", 24, 8, 1, 1],
  ["wall_ns", 32, 8, 1, 1],
  ["held_ns", 40, 8, 1, 1],
  ["gvl_wait_ns", 48, 8, 1, 1],
  ["lock_wait_ns", 56, 8, 1, 0],
  ["io_ns", 64, 8, 1, 1],
  ["cpu_ns", 72, 8, 1, 1],
  ["gc_ns", 80, 8, 1, 0],
  ["allocations", 88, 8, 2, 1],
  ["yields", 96, 4, 2, 1],
  ["thread_id", 100, 4, 0, 1],
  ["endpoint", 104, 2, 3, 1],
  ["status", 106, 2, 0, 1],
  ["busy_threads", 108, 2, 2, 1],
  ["method", 110, 1, 0, 1],
  ["flags", 111, 1, 0, 1]
].freeze

# As in a Rails process without an HTTP client and without Redis.
WIDE_FIELDS = (NARROW_FIELDS.map { |name, offset, size, unit, _| [name, offset, size, unit, 1] } + [
  ["gc_own_us", 112, 4, 4, 1],
  ["gc_cpu_us", 116, 4, 4, 1],
  ["sql_us", 120, 4, 4, 1],
  ["sql_gvl_us", 124, 4, 4, 1],
  ["sql_count", 160, 2, 2, 1],
  ["http_us", 128, 4, 4, 0],
  ["http_gvl_us", 132, 4, 4, 0],
  ["http_count", 162, 2, 2, 0],
  ["cache_us", 136, 4, 4, 1],
  ["cache_gvl_us", 140, 4, 4, 1],
  ["cache_count", 164, 2, 2, 1],
  ["redis_us", 144, 4, 4, 0],
  ["redis_gvl_us", 148, 4, 4, 0],
  ["redis_count", 166, 2, 2, 0],
  ["pool_us", 152, 4, 4, 1],
  ["pool_gvl_us", 156, 4, 4, 1],
  ["pool_count", 168, 2, 2, 1],
  ["gc_count", 170, 2, 2, 1],
  ["parse_us", 172, 4, 4, 1],
  ["write_us", 176, 4, 4, 1],
  ["server_held_us", 180, 4, 4, 1],
  ["server_gvl_wait_us", 184, 4, 4, 1]
]).freeze

COUNTERS = %w[requests server_errors queue_ns queue_known wall_ns held_ns gvl_wait_ns lock_wait_ns io_ns
              cpu_ns gc_ns allocations yields].freeze
SUMMED = %w[queue_ns wall_ns held_ns gvl_wait_ns lock_wait_ns io_ns cpu_ns gc_ns allocations yields].freeze
FURTHER = %w[gc_own_ns gc_cpu_ns sql_ns sql_gvl_ns http_ns http_gvl_ns cache_ns cache_gvl_ns redis_ns redis_gvl_ns
             pool_ns pool_gvl_ns sql_count http_count cache_count redis_count pool_count gc_count parse_ns write_ns
             server_held_ns server_gvl_wait_ns busy_sum spans_known].freeze
SAMPLE = %w[sequence mono_ns size connections busy dead idle waiting pool].freeze
PACK = { 8 => "Q<", 4 => "L<", 2 => "S<", 1 => "C" }.freeze

HEADER = {
  "version" => 1, "header_size" => HEADER_SIZE, "record_size" => 128, "ring_capacity" => RING_CAPACITY,
  "ring_offset" => 16_384, "field_count" => NARROW_FIELDS.size, "field_table_offset" => FIELD_TABLE_OFFSET,
  "endpoint_offset" => ENDPOINT_OFFSET, "endpoint_size" => 1280,
  "endpoint_capacity" => ENDPOINT_CAPACITY, "totals_offset" => TOTALS_OFFSET, "totals_size" => 256,
  "state" => 1, "pid" => 4242, "parent_pid" => 4200, "start_ticks" => 987_654,
  "created_wall_ns" => 1_700_000_000_000_000_000, "created_mono_ns" => 9_876_543_210_000,
  "worker_index" => 1, "server_workers" => 2, "server_min_threads" => 3, "server_max_threads" => 3,
  "server_preload" => 1, "flags" => 1, "ruby_version" => "3.3.8", "server_name" => "puma 6.6.0",
  "framework" => "rails 7.2.2.2", "agent_version" => "0.1.0", "app_root" => "/srv/storefront",
  "written" => 0, "faults" => 2, "clock_skew" => 1, "endpoints_lost" => 0, "in_flight" => 1
}.freeze

WIDE_HEADER = HEADER.merge(
  "record_size" => 192, "ring_offset" => 20_480, "field_count" => WIDE_FIELDS.size, "endpoint_size" => 2048,
  "totals_size" => 512, "agent_version" => "0.2.0", "gc_runs" => 12, "gc_pause_ns" => 34_000_000,
  "gc_cpu_ns" => 33_000_000, "pool_offset" => 16_384, "pool_sample_size" => 32, "pool_capacity" => 8,
  "pool_written" => 0, "trace_request" => 0
).freeze

HEADER_LAYOUT = {
  "version" => [8, "L<"], "header_size" => [12, "L<"], "record_size" => [16, "L<"], "ring_capacity" => [20, "L<"],
  "ring_offset" => [24, "Q<"], "field_count" => [32, "L<"], "field_table_offset" => [36, "L<"],
  "endpoint_offset" => [40, "Q<"], "endpoint_size" => [48, "L<"], "endpoint_capacity" => [52, "L<"],
  "totals_offset" => [56, "Q<"], "totals_size" => [64, "L<"], "state" => [68, "L<"], "pid" => [72, "L<"],
  "parent_pid" => [76, "L<"], "start_ticks" => [80, "Q<"], "created_wall_ns" => [88, "Q<"],
  "created_mono_ns" => [96, "Q<"], "worker_index" => [104, "l<"], "server_workers" => [108, "L<"],
  "server_min_threads" => [112, "L<"], "server_max_threads" => [116, "L<"], "server_preload" => [120, "L<"],
  "flags" => [124, "L<"], "ruby_version" => [128, "a32"], "server_name" => [160, "a32"],
  "framework" => [192, "a32"], "agent_version" => [224, "a32"], "app_root" => [256, "a128"],
  "written" => [384, "Q<"], "faults" => [392, "Q<"], "clock_skew" => [400, "Q<"],
  "endpoints_lost" => [408, "Q<"], "in_flight" => [416, "Q<"], "gc_runs" => [424, "Q<"],
  "gc_pause_ns" => [432, "Q<"], "gc_cpu_ns" => [440, "Q<"], "pool_offset" => [448, "Q<"],
  "pool_sample_size" => [456, "L<"], "pool_capacity" => [460, "L<"], "pool_written" => [464, "Q<"],
  "trace_request" => [472, "Q<"], "about_offset" => [504, "L<"], "about_size" => [508, "L<"],
  "arm" => [2048, "a64"], "allocator" => [2112, "a32"], "jit" => [2144, "a16"],
  "variables_offset" => [2192, "L<"], "variables_size" => [2196, "L<"], "variables" => [2816, "a1280"]
}.freeze

STATUSES = %w[status_1xx status_2xx status_3xx status_4xx status_5xx].freeze
ARMED_HEADER = WIDE_HEADER.merge(
  "flags" => 9, "about_offset" => 2048, "about_size" => 128, "arm" => "canary", "allocator" => "jemalloc", "jit" => "yjit"
).freeze

EDGES = { "wall_up_to_75ms" => 75_000_000, "wall_up_to_250ms" => 250_000_000 }.freeze
EDGED_HEADER = ARMED_HEADER.merge("flags" => 25).freeze

HEAP_OFFSET = 2304
# Older agents had room for eight pools.
HEAP_SIZE = 264
WIDE_HEAP_SIZE = 456
HEAP = {
  "mono_ns" => HEADER["created_mono_ns"] + 400_000_000, "page_bytes" => 65_536, "pages" => 27, "live_slots" => 19_330,
  "free_slots" => 6_451, "old_objects" => 9_163,
  "pools" => [{ "slot_bytes" => 40, "slots" => 16_372, "live_slots" => 14_224 },
              { "slot_bytes" => 80, "slots" => 9_409, "live_slots" => nil }]
}.freeze
SLOTS = [32, 40, 64, 80, 96, 128, 160, 256, 512, 640, 768, 1_024].freeze
WIDE_HEAP = HEAP.merge(
  "pools" => SLOTS.map { |bytes| { "slot_bytes" => bytes, "slots" => 65_536 / bytes, "live_slots" => 50_000 / bytes } }
).freeze

COLLECTED_HEADER = EDGED_HEADER.merge("field_count" => WIDE_FIELDS.size + 1, "about_size" => 160, "variables_offset" => 2816,
                                      "variables_size" => 1280,
                                      "variables" => "MALLOC_ARENA_MAX=2\nRUBY_GC_MALLOC_LIMIT=32000000").freeze
UNKNOWN_BEFORE = { "live_before" => (2**64) - 1, "old_before" => (2**64) - 1, "freed" => (2**64) - 1,
                   "pages_before" => (2**32) - 1, "malloc_increase" => (2**64) - 1, "oldmalloc_increase" => (2**64) - 1 }.freeze
COLLECTION_SIZE = 160
COLLECTION_CAPACITY = 4
# How each lies in its slot, after the numbers of the writing and of the collection.
COLLECTION = {
  "start_mono_ns" => "Q<", "end_mono_ns" => "Q<", "pause_ns" => "Q<", "sweeping_ns" => "Q<", "longest_ns" => "Q<",
  "cpu_ns" => "Q<",
  "number" => "L<", "pauses" => "L<", "thread_id" => "L<", "kind" => "C", "major_by" => "C", "cause" => "C", "flags" => "C",
  "live_before" => "Q<", "live_after" => "Q<", "old_before" => "Q<", "old_after" => "Q<", "freed" => "Q<", "pages_before" => "L<",
  "pages_after" => "L<", "malloc_increase" => "Q<", "oldmalloc_increase" => "Q<"
}.freeze

def bucket(nanoseconds)
  microseconds = nanoseconds / 1000
  return microseconds if microseconds < 4

  exponent = microseconds.bit_length - 1
  [(4 * (exponent - 1)) + ((microseconds >> (exponent - 2)) & 3), BUCKETS - 1].min
end

# The known constants of a 64-bit linear congruential generator, so that a rebuild gives the same bytes.
class Dice
  def initialize(seed)
    @state = seed
  end

  def roll(limit)
    @state = ((@state * 6_364_136_223_846_793_005) + 1_442_695_040_888_963_407) & 0xFFFFFFFFFFFFFFFF
    (@state >> 33) % limit
  end
end

# One flight file as agents before 0.1 wrote it, with its requests and what a reader must find in it.
class Sample
  def initialize(names:, requests:, header: {})
    @header = base_header.merge(header)
    @names = ["(other)"] + names.first(ENDPOINT_CAPACITY - 1)
    @ring = Array.new(RING_CAPACITY)
    @counters = Array.new(@names.size + 1) { counters.to_h { |name| [name, 0] } }
    @histograms = Array.new(@names.size) { histograms.to_h { |name| [name, Hash.new(0)] } }
    @torn = []
    @dice = Dice.new(42)
    requests.times { |k| add(k, names) }
  end

  def tear(slot)
    @torn << slot
    self
  end

  def bytes(cut_at = nil)
    file = "\0".b * (@header["ring_offset"] + (RING_CAPACITY * record_size))
    put_header(file)
    put_totals(file)
    @names.each_with_index { |name, index| put_endpoint(file, name, index) }
    @ring.each_with_index do |record, slot|
      file[@header["ring_offset"] + (slot * record_size), record_size] = record_bytes(record, slot) if record
    end
    cut_at ? file.byteslice(0, cut_at) : file
  end

  def description(cut_at = nil)
    whole_slots = cut_at ? (cut_at - @header["ring_offset"]) / record_size : RING_CAPACITY
    records = @ring.each_with_index.filter_map { |r, slot| r if r && slot < whole_slots && !@torn.include?(slot) }
    {
      "header" => @header, "fields" => fields.map { |f| %w[name offset size unit flags].zip(f).to_h },
      "totals" => @counters.last,
      "endpoints" => @names.each_with_index.map { |name, index| endpoint_description(name, index) },
      "records_readable" => records.size, "records" => records.sort_by { |r| r["sequence"] }
    }
  end

  private

  def base_header = HEADER
  def fields = NARROW_FIELDS
  def counters = COUNTERS
  def histograms = %w[wall gvl_wait]
  def record_size = @header["record_size"]

  def add(index, names)
    record = roll_record(index)
    wanted = index % names.size
    record["endpoint"] = wanted + 1 < ENDPOINT_CAPACITY ? wanted + 1 : 0
    @header["endpoints_lost"] += 1 if record["endpoint"].zero?
    @header["written"] = index + 1
    @ring[index % RING_CAPACITY] = record
    [record["endpoint"], -1].each { |at| count(@counters[at], record) }
    histograms.each { |name| @histograms[record["endpoint"]][name][bucket(record["#{name}_ns"])] += 1 }
  end

  def roll_record(index)
    held = 1_000 + @dice.roll(20_000_000)
    wait = @dice.roll(5_000_000)
    io = @dice.roll(80_000_000)
    raised = index % 17 == 16
    queue_known = index % 4 != 3
    {
      "sequence" => index + 1, "arrival_wall_ns" => HEADER["created_wall_ns"] + ((index + 1) * 10_000_000),
      "start_mono_ns" => HEADER["created_mono_ns"] + ((index + 1) * 10_000_000),
      "queue_ns" => queue_known ? @dice.roll(3_000_000) : 0, "wall_ns" => held + wait + io, "held_ns" => held,
      "gvl_wait_ns" => wait, "lock_wait_ns" => 0, "io_ns" => io, "cpu_ns" => held * 9 / 10, "gc_ns" => 0,
      "allocations" => @dice.roll(50_000), "yields" => @dice.roll(40), "thread_id" => 4250 + (index % 3),
      "endpoint" => 0, "status" => raised ? 0 : [200, 201, 302, 404, 500][@dice.roll(5)],
      "busy_threads" => 1 + @dice.roll(3), "method" => index % 8, "flags" => (queue_known ? 1 : 0) | (raised ? 2 : 0)
    }
  end

  def count(counters, record)
    counters["requests"] += 1
    counters["server_errors"] += 1 if record["flags"] & 2 == 2 || record["status"].between?(500, 599)
    counters["queue_known"] += 1 if record["flags"] & 1 == 1
    SUMMED.each { |name| counters[name] += record[name] }
  end

  def endpoint_description(name, index)
    { "index" => index, "name" => name }.merge(@counters[index]).merge(
      histograms.to_h { |which| ["#{which}_histogram", nonzero(@histograms[index][which])] }
    )
  end

  def nonzero(histogram)
    histogram.sort.filter_map { |at, n| { "bucket" => at, "count" => n } if n.positive? }
  end

  def put_header(file)
    file[0, 8] = "PBFLIGHT"
    HEADER_LAYOUT.slice(*@header.keys).each do |name, (offset, format)|
      packed = [@header.fetch(name)].pack(format)
      file[offset, packed.bytesize] = packed
    end
    fields.each_with_index do |field, index|
      file[FIELD_TABLE_OFFSET + (index * 32), 32] = field.pack("a24S<S<S<S<")
    end
  end

  def put_totals(file)
    file[TOTALS_OFFSET, 104] = counter_bytes(@counters.last)
  end

  def put_endpoint(file, name, index)
    at = endpoint_offset(index)
    file[at, 104] = counter_bytes(@counters[index])
    file[at + 128, 128] = [name, 1].pack("a120Q<")
    { "wall" => 256, "gvl_wait" => 768 }.each do |which, offset|
      file[at + offset, 512] = histogram_bytes(index, which)
    end
  end

  def endpoint_offset(index)
    ENDPOINT_OFFSET + (index * @header["endpoint_size"])
  end

  def histogram_bytes(index, which)
    Array.new(BUCKETS) { |b| @histograms[index][which].fetch(b, 0) }.pack("L<*")
  end

  def counter_bytes(counters)
    COUNTERS.map { |name| counters.fetch(name) }.pack("Q<*")
  end

  def record_bytes(record, slot)
    bytes = "\0".b * record_size
    fields.each { |name, offset, size| bytes[offset, size] = [record.fetch(name)].pack(PACK.fetch(size)) }
    bytes[0, 8] = "\0" * 8 if @torn.include?(slot)
    bytes
  end
end

# One as agent 0.1 writes them.
class WideSample < Sample
  CALLS = { "sql" => 30_000, "http" => 0, "cache" => 4_000, "redis" => 0, "pool" => 9_000 }.freeze

  def initialize(names:, requests:, samples:, header: {})
    @wanted = names
    super(names: names, requests: requests, header: header)
    @header["pool_written"] = samples
    @samples = Array.new(samples) { |k| roll_sample(k) }
  end

  def bytes(cut_at = nil)
    file = super
    @samples.last(@header["pool_capacity"]).each do |sample|
      at = @header["pool_offset"] + ((sample["sequence"] - 1) % @header["pool_capacity"] * 32)
      file[at, 32] = SAMPLE.map { |name| sample.fetch(name) }.push(0).pack("Q<2S<8")
    end
    file
  end

  def description(cut_at = nil)
    super.merge("pool_samples" => @samples.last(@header["pool_capacity"]))
  end

  private

  def base_header = WIDE_HEADER
  def fields = WIDE_FIELDS
  def counters = COUNTERS + FURTHER
  def histograms = %w[wall gvl_wait queue]

  def add(index, names)
    super
    record = @ring[index % RING_CAPACITY]
    @histograms[record["endpoint"]]["queue"][bucket(0)] -= 1 if record["flags"].nobits?(1)
  end

  # Further dice are rolled after those of a narrow record.
  def roll_record(index)
    job = @wanted[index % @wanted.size].start_with?("job ")
    super.merge("lock_wait_ns" => @dice.roll(2_000_000)).then do |record|
      further = { "gc_own_us" => @dice.roll(900), "gc_count" => @dice.roll(4), "parse_us" => 0, "write_us" => 0,
                  "server_held_us" => @dice.roll(700), "server_gvl_wait_us" => @dice.roll(300) }.merge(roll_calls)
      further["gc_cpu_us"] = further["gc_own_us"] / 2
      record.merge(further).merge("wall_ns" => record["wall_ns"] + record["lock_wait_ns"],
                                  "gc_ns" => further["gc_own_us"] * 2_000).merge(served(record, index, job))
    end
  end

  def roll_calls
    CALLS.each_with_object({}) do |(kind, most), calls|
      seen = most.zero? ? 0 : @dice.roll(most)
      calls["#{kind}_us"] = seen
      calls["#{kind}_gvl_us"] = seen / 3
      calls["#{kind}_count"] = most.zero? ? 0 : 1 + @dice.roll(12)
    end
  end

  def served(record, index, job)
    return { "flags" => record["flags"] | 4, "status" => 0, "method" => 0 } if job
    return {} if index % 5 == 4

    { "flags" => record["flags"] | 16 | (index.zero? ? 8 : 0), "parse_us" => @dice.roll(400),
      "write_us" => @dice.roll(200) }
  end

  def roll_sample(index)
    busy, dead, idle = Array.new(3) { @dice.roll(3) }
    { "sequence" => index + 1, "mono_ns" => HEADER["created_mono_ns"] + ((index + 1) * 1_000_000_000), "size" => 5,
      "connections" => busy + dead + idle, "busy" => busy, "dead" => dead, "idle" => idle,
      "waiting" => @dice.roll(3), "pool" => index % 2 }
  end

  def count(counters, record)
    super
    counters["busy_sum"] += record["busy_threads"]
    counters["spans_known"] += 1 if record["flags"] & 16 == 16
    FURTHER.each do |name|
      if record.key?(name)
        counters[name] += record[name]
      elsif record.key?(name.sub(/_ns\z/, "_us"))
        counters[name] += record[name.sub(/_ns\z/, "_us")] * 1_000
      end
    end
  end

  def put_totals(file)
    super
    file[TOTALS_OFFSET + 128, 192] = further_bytes(@counters.last)
  end

  def put_endpoint(file, name, index)
    super
    file[endpoint_offset(index) + 1280, 192] = further_bytes(@counters[index])
    file[endpoint_offset(index) + 1536, 512] = histogram_bytes(index, "queue")
  end

  def further_bytes(counters)
    FURTHER.map { |name| counters.fetch(name) }.pack("Q<*")
  end
end

# One that counts classes of status and says what its process runs with.
class ArmedSample < WideSample
  private

  def base_header = ARMED_HEADER
  def counters = super + STATUSES

  def count(counters, record)
    super
    at = record["flags"] & 2 == 2 ? 5 : record["status"] / 100
    counters["status_#{at}xx"] += 1 if at.between?(1, 5)
  end

  def put_totals(file)
    super
    file[TOTALS_OFFSET + 320, 40] = status_bytes(@counters.last)
  end

  def put_endpoint(file, name, index)
    super
    file[endpoint_offset(index) + 1472, 40] = status_bytes(@counters[index])
  end

  def status_bytes(counters)
    STATUSES.map { |name| counters.fetch(name) }.pack("Q<*")
  end
end

# One that also counts the requests of at most 75 and 250 ms, with some that take exactly so long.
class EdgedSample < ArmedSample
  WALLS = { 3 => 75_000_000, 6 => 75_000_001, 10 => 70_000_000, 13 => 250_000_000, 18 => 250_000_001, 21 => 255_000_000,
            27 => 400_000_000 }.freeze

  private

  def base_header = EDGED_HEADER
  def counters = super + EDGES.keys

  def roll_record(index)
    super.then do |record|
      wall = WALLS.fetch(index, record["wall_ns"])
      record.merge("wall_ns" => wall, "io_ns" => record["io_ns"] + wall - record["wall_ns"])
    end
  end

  def count(counters, record)
    super
    EDGES.each { |name, edge| counters[name] += 1 if record["wall_ns"] <= edge }
  end

  def put_totals(file)
    super
    file[TOTALS_OFFSET + 360, 16] = edge_bytes(@counters.last)
  end

  def put_endpoint(file, name, index)
    super
    file[endpoint_offset(index) + 1512, 16] = edge_bytes(@counters[index])
  end

  def edge_bytes(counters)
    EDGES.keys.map { |name| counters.fetch(name) }.pack("Q<*")
  end
end

# One with the state of Ruby's heap, of which one pool does not count its objects.
class HeapedSample < EdgedSample
  def initialize(heap: HEAP, heap_size: HEAP_SIZE, **)
    super(**)
    @heap = heap
    @heap_size = heap_size
  end

  def description(cut_at = nil)
    super.merge("heap" => @heap)
  end

  private

  def put_header(file)
    super
    file[2048 + 112, 8] = [HEAP_OFFSET, @heap_size].pack("L<2")
    file[HEAP_OFFSET, @heap_size] = heap_bytes
  end

  def heap_bytes
    head = [7, @heap["mono_ns"], @heap["page_bytes"], @heap["pools"].size,
            *@heap.values_at("pages", "live_slots", "free_slots", "old_objects"), 0].pack("Q<2L<2Q<5")
    pools = @heap["pools"].map do |pool|
      [pool["slot_bytes"], 0, pool["slots"], pool["live_slots"] || 0xFFFFFFFFFFFFFFFF].pack("L<2Q<2")
    end
    (head + pools.join).ljust(@heap_size - 8, "\0") + [7].pack("Q<")
  end
end

# One with a log of collections, of which the ring has turned; the first one left is being written, and what was before the
# second is not known.
class CollectedSample < HeapedSample
  def initialize(collections:, **)
    super(**)
    @collections = Array.new(collections) { |k| collection(k) }
  end

  def bytes(cut_at = nil)
    file = super
    log = "\0".b * (COLLECTION_CAPACITY * COLLECTION_SIZE)
    @collections.last(COLLECTION_CAPACITY).each_with_index do |entry, at|
      slot = (entry["sequence"] - 1) % COLLECTION_CAPACITY * COLLECTION_SIZE
      log[slot, COLLECTION_SIZE] = collection_bytes(entry, at.zero? ? 0 : 900 + entry["sequence"])
    end
    file + log
  end

  def description(cut_at = nil)
    super.merge("collections" => @collections.last(COLLECTION_CAPACITY - 1))
  end

  private

  def base_header = COLLECTED_HEADER
  def fields = WIDE_FIELDS + [["gc_major_us", 188, 4, 4, 1]]

  def roll_record(index)
    super.then { |record| record.merge("gc_major_us" => (index % 3).zero? ? record["gc_ns"] / 1_000 : record["gc_own_us"] / 3) }
  end

  def put_header(file)
    super
    offset = @header["ring_offset"] + (RING_CAPACITY * record_size)
    file[2048 + 120, 24] = [offset, COLLECTION_SIZE, COLLECTION_CAPACITY, @collections.size].pack("Q<L<2Q<")
  end

  def collection(index)
    major = index.odd?
    start = HEADER["created_mono_ns"] + ((index + 1) * 90_000_000)
    entry = { "start_mono_ns" => start, "end_mono_ns" => start + 40_000_000, "pause_ns" => 9_000_000 + index,
              "sweeping_ns" => 2_000_000, "longest_ns" => 6_000_000, "cpu_ns" => 8_000_000, "number" => 30 + index,
              "pauses" => 4 + index, "thread_id" => 4250 + (index % 3),
              "kind" => major ? 2 : 1, "major_by" => major ? 4 : 0, "cause" => 1 + (index % 5), "flags" => index == 4 ? 2 : 7,
              "live_before" => 20_000 + index, "live_after" => 15_000, "old_before" => 9_000, "old_after" => 9_100 + index,
              "freed" => 5_000 + index, "pages_before" => 26, "pages_after" => 27, "malloc_increase" => 17_000_000 + index,
              "oldmalloc_increase" => 18_000_000, "sequence" => index + 1 }
    index == 4 ? entry.merge(UNKNOWN_BEFORE) : entry
  end

  def collection_bytes(entry, writing)
    body = COLLECTION.map { |name, format| [entry.fetch(name)].pack(format) }.join
    ([writing, entry["sequence"]].pack("Q<2") + body).ljust(COLLECTION_SIZE - 8, "\0") + [writing].pack("Q<")
  end
end

# One with the table of locks: what there was no row for, a mutex, a monitor for each of several keys, a queue; one row is being
# written.
class ContendedSample < CollectedSample
  LOCK_SIZE = 192
  LOCKS = [
    { "row" => 0, "kind" => 0, "waits" => 2, "wait_ns" => 3_000_000, "site" => "" },
    { "row" => 1, "kind" => 1, "waits" => 30, "wait_ns" => 180_000_000, "longest_wait_ns" => 20_000_000, "holds" => 36,
      "held_ns" => 270_000_000, "longest_held_ns" => 9_000_000, "objects" => 1, "site" => "lib/cache.rb:41" },
    { "row" => 2, "kind" => 5, "waits" => 5, "wait_ns" => 9_000_000, "longest_wait_ns" => 4_000_000, "holds" => 6,
      "held_ns" => 7_000_000, "longest_held_ns" => 2_000_000, "objects" => 4, "site" => "keyed-1.0/lib/keyed.rb:7" },
    { "row" => 3, "kind" => 2, "waits" => 1, "wait_ns" => 1_000_000, "longest_wait_ns" => 1_000_000, "site" => "app/größe.rb:3" }
  ].map.with_index do |lock, at|
    none = %w[longest_wait_ns holds held_ns longest_held_ns objects].to_h { |name| [name, 0] }
    none.merge("first_mono_ns" => at.zero? ? 0 : HEADER["created_mono_ns"] + (at * 50_000_000)).merge(lock)
  end.freeze

  def bytes(cut_at = nil)
    file = super
    table = "\0".b * (LOCK_SIZE * 8)
    LOCKS.each { |lock| table[lock["row"] * LOCK_SIZE, LOCK_SIZE] = lock_bytes(lock, lock["row"].zero? ? 0 : 1) }
    table[4 * LOCK_SIZE, LOCK_SIZE] = lock_bytes(LOCKS.last, 0)
    file + table
  end

  def description(cut_at = nil)
    super.merge("locks" => LOCKS)
  end

  private

  def base_header = super.merge("about_size" => 176)

  def put_header(file)
    super
    offset = @header["ring_offset"] + (RING_CAPACITY * record_size) + (COLLECTION_CAPACITY * COLLECTION_SIZE)
    file[2048 + 152, 16] = [offset, LOCK_SIZE, 8].pack("Q<L<2")
  end

  def lock_bytes(lock, named)
    [named, *lock.values_at("first_mono_ns", "waits", "wait_ns", "longest_wait_ns", "holds", "held_ns", "longest_held_ns"),
     *lock.values_at("objects", "kind", "site")].pack("Q<8L<Cx3a120")
  end
end

def write(folder, name, sample, story, cut_at = nil)
  File.binwrite(File.join(folder, "#{name}.flight"), sample.bytes(cut_at))
  document = { "sample" => name, "story" => story }.merge(sample.description(cut_at))
  File.write(File.join(folder, "#{name}.json"), "#{JSON.pretty_generate(document)}\n")
end

if $PROGRAM_NAME == __FILE__
  folder = ARGV.fetch(0, __dir__)
  names = ["products#index", "products#show", "GET /health/:id"]
  cut = HEADER["ring_offset"] + (20 * HEADER["record_size"]) + 64
  mixed = names.first(2) + ["job HardWorker"]

  write(folder, "basic", Sample.new(names: names, requests: 40), "40 requests in a ring of 64, three endpoints")
  write(folder, "wrapped", Sample.new(names: names + ["orders#create", "carts#show"], requests: 150,
                                      header: { "state" => 2, "in_flight" => 0, "worker_index" => -1,
                                                "server_workers" => 0, "server_preload" => UNKNOWN }),
        "150 requests in a ring of 64: 64 records stay, the counters hold all; five endpoints where three fit")
  write(folder, "torn", Sample.new(names: names, requests: 40).tear(7), "slot 7 was being written: 39 records count")
  write(folder, "truncated", Sample.new(names: names, requests: 40),
        "cut in the middle of slot 20, as on a disk that filled up while copying: 20 whole records", cut)
  write(folder, "wide", WideSample.new(names: mixed, requests: 40, samples: 5),
        "40 requests and jobs as agent 0.1 writes them, and five samples of two connection pools")
  write(folder, "wide_wrapped", WideSample.new(names: mixed + ["orders#create"], requests: 150, samples: 20,
                                               header: { "state" => 2, "in_flight" => 0 }),
        "150 requests in a ring of 64 and 20 pool samples where eight are kept")
  write(folder, "armed", ArmedSample.new(names: mixed, requests: 40, samples: 5,
                                         header: { "worker_index" => 0, "server_name" => "puma 7.1.0" }),
        "like wide, with classes of status, an arm, an allocator and a JIT")
  edged = ["products#index", "GET /health/:id", "job HardWorker", "GET (not found)"]
  write(folder, "edged", EdgedSample.new(names: edged, requests: 40, samples: 5,
                                         header: { "server_name" => "puma 7.1.0", "server_max_threads" => 5 }),
        "like armed, with requests of at most 75 and 250 ms counted, and some of exactly so long")
  write(folder, "heaped", HeapedSample.new(names: edged, requests: 40, samples: 5), "like edged, with the state of Ruby's heap")
  write(folder, "heaped_wide", HeapedSample.new(names: edged, requests: 40, samples: 5,
                                                heap: WIDE_HEAP, heap_size: WIDE_HEAP_SIZE),
        "like heaped, with twelve pools")
  write(folder, "collected", CollectedSample.new(names: edged, requests: 40, samples: 5, collections: 6),
        "like heaped, with six collections where four are kept; the oldest of these is being written")
  write(folder, "contended", ContendedSample.new(names: edged, requests: 40, samples: 5, collections: 6),
        "like collected, with four rows of locks; a fifth is being written")
end
