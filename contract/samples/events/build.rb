# frozen_string_literal: true

# Builds the golden samples of the events file byte by byte from contract/events-v1.md, sharing no code with the agent
# that writes real ones or with the crate that reads them. What each request did is written down here first; its events
# follow from that, so that the description does not come from adding events up.
#
#   ruby contract/samples/events/build.rb [FOLDER]     (default: this folder)

require "json"

CREATED_MONO_NS = 9_876_543_210_000
BEGAN_MONO_NS = CREATED_MONO_NS + 2_000_000
MS = 1_000_000

HEADER = {
  "version" => 1, "header_size" => 4096, "mode" => 1, "state" => 2, "request" => 0x1122334455667788,
  "thread_offset" => 4096, "thread_size" => 64, "thread_capacity" => 8, "event_offset" => 8192, "event_size" => 32,
  "one_in" => 0, "event_capacity" => 128, "pid" => 4242, "worker_index" => 1, "start_ticks" => 987_654,
  "created_wall_ns" => 1_700_000_000_000_000_000, "created_mono_ns" => CREATED_MONO_NS,
  "deadline_mono_ns" => CREATED_MONO_NS + (500 * MS), "began_mono_ns" => BEGAN_MONO_NS,
  "ended_mono_ns" => CREATED_MONO_NS + (501 * MS), "thread_count" => 0, "claimed" => 0
}.freeze

SAMPLING = HEADER.merge(
  "mode" => 2, "state" => 1, "request" => 0, "thread_capacity" => 0, "event_offset" => 4096, "one_in" => 10,
  "event_capacity" => 64, "worker_index" => -1, "deadline_mono_ns" => 0, "began_mono_ns" => CREATED_MONO_NS,
  "ended_mono_ns" => 0
).freeze

HEADER_LAYOUT = {
  "version" => [8, "L<"], "header_size" => [12, "L<"], "mode" => [16, "L<"], "state" => [20, "L<"],
  "request" => [24, "Q<"], "thread_offset" => [32, "Q<"], "thread_size" => [40, "L<"],
  "thread_capacity" => [44, "L<"], "event_offset" => [48, "Q<"], "event_size" => [56, "L<"], "one_in" => [60, "L<"],
  "event_capacity" => [64, "Q<"], "pid" => [72, "L<"], "worker_index" => [76, "l<"], "start_ticks" => [80, "Q<"],
  "created_wall_ns" => [88, "Q<"], "created_mono_ns" => [96, "Q<"], "deadline_mono_ns" => [104, "Q<"],
  "began_mono_ns" => [112, "Q<"], "ended_mono_ns" => [120, "Q<"], "thread_count" => [128, "L<"],
  "claimed" => [192, "Q<"]
}.freeze

KINDS = { started: 1, exited: 2, ready: 3, resumed: 4, suspended: 5, gc_enter: 6, gc_exit: 7, request_begin: 8,
          request_end: 9, call_begin: 10, call_end: 11, state: 12, unknown: 200 }.freeze
CALLS = { sql: 0, http: 1, cache: 2, redis: 3, pool: 4 }.freeze
GC_PHASES = { begins: 0, marks: 1, sweeps: 2, unknown: 3 }.freeze

# A request as a list of steps: [:run, ns], [:io, ns, wait_ns, rows of locks held], [:lock, ns, wait_ns, row],
# [:preempted, wait_ns], [:gc, ns, phase], [:call, kind, steps].
class Request
  attr_reader :events, :thread

  def initialize(thread, at_ns, steps, endpoint: 1, status: 200, flags: 0, busy: 1)
    @thread = thread
    @start_ns = @now_ns = CREATED_MONO_NS + at_ns
    @ends = { "endpoint" => endpoint, "status" => status, "flags" => flags }
    @busy = busy
    @events = []
    @bursts = []
    @calls = []
    @collections = []
    event(:request_begin, 0, busy)
    steps.each { |step| take(*step) }
    event(:request_end, flags, status, endpoint)
  end

  def description
    sums = %w[running waiting lock io].to_h { |doing| ["#{doing}_ns", @bursts.sum { |d, ns| d == doing ? ns : 0 }] }
    { "thread" => @thread, "start_mono_ns" => @start_ns, "wall_ns" => @now_ns - @start_ns, "busy_threads" => @busy }
      .merge(@ends, sums, "bursts" => @bursts, "calls" => @calls, "collections" => @collections)
  end

  private

  def take(what, *details)
    send(what, *details)
  end

  def run(for_ns)
    spend("running", for_ns)
  end

  def io(for_ns, wait_ns, held = 0)
    away("io", [0, 0, held], for_ns, wait_ns)
  end

  def lock(for_ns, wait_ns, row = 0)
    away("lock", [1, row, 0], for_ns, wait_ns)
  end

  def preempted(wait_ns)
    away("io", [0, 0, 0], 0, wait_ns)
  end

  def gc(for_ns, phase)
    from = @now_ns
    event(:gc_enter, GC_PHASES.fetch(phase))
    run(for_ns)
    event(:gc_exit)
    @collections << [from - @start_ns, @now_ns - @start_ns]
  end

  def call(kind, steps)
    from = @now_ns
    event(:call_begin, CALLS.fetch(kind))
    steps.each { |step| take(*step) }
    event(:call_end, CALLS.fetch(kind))
    @calls << [kind.to_s, from - @start_ns, @now_ns - @start_ns]
  end

  def away(doing, event, for_ns, wait_ns)
    event(:suspended, *event)
    spend(doing, for_ns)
    event(:ready)
    spend("waiting", wait_ns)
    event(:resumed)
  end

  def spend(doing, for_ns)
    @now_ns += for_ns
    return if for_ns.zero?

    @bursts.last&.first == doing ? @bursts.last[1] += for_ns : @bursts << [doing, for_ns]
  end

  def event(kind, detail = 0, code = 0, argument = 0)
    @events << [@now_ns, @thread, KINDS.fetch(kind), detail, code, argument]
  end
end

# One events file: its threads, requests and single events, and what a reader must find in it.
class Sample
  def initialize(requests:, threads: [], events: [], header: {})
    @threads = threads
    @requests = requests
    @torn = []
    events = events.map { |at_ns, *rest| [CREATED_MONO_NS + at_ns, *rest] }
    @alone = events.select { |event| KINDS.values_at(:request_begin, :request_end).include?(event[2]) }
    all = events + requests.flat_map(&:events)
    # In the order of their times, except that two threads claimed in the other order than they looked at the clock.
    @events = all.each_with_index.sort_by { |event, k| [event[0], k] }.map(&:first)
    swap_two_of_different_threads
    @header = HEADER.merge(header).merge("thread_count" => threads.size, "claimed" => @events.size)
  end

  def tear(index)
    @torn << index
    self
  end

  def bytes(cut_at = nil)
    file = "\0".b * (@header["event_offset"] + (@header["event_capacity"] * 32))
    file[0, 8] = "PBEVENTS"
    HEADER_LAYOUT.each { |name, (at, format)| put(file, at, [@header.fetch(name)].pack(format)) }
    @threads.each_with_index { |thread, k| put(file, @header["thread_offset"] + (k * 64), thread.pack("L<L<a56")) }
    written.each { |k| put(file, slot(k), [sequence(k), *@events[k]].pack("Q<Q<L<CCS<Q<")) }
    cut_at ? file.byteslice(0, cut_at) : file
  end

  def description(cut_at = nil)
    there = whole(cut_at)
    {
      "header" => @header, "threads" => last_names,
      "events" => there.map { |k| %w[mono_ns thread kind detail code argument].zip(@events[k]).to_h.merge("index" => k) },
      "torn" => @torn, "missing" => written.size - there.size - @torn.size,
      "lost" => @header["mode"] == 1 ? [@events.size - @header["event_capacity"], 0].max : 0
    }.merge(requests_in(there))
  end

  def slot(index)
    @header["event_offset"] + (index % @header["event_capacity"] * 32)
  end

  private

  def put(file, offset, bytes)
    file[offset, bytes.bytesize] = bytes
  end

  def swap_two_of_different_threads
    at = (1...@events.size).find { |k| @events[k][1] != @events[k - 1][1] && @events[k][0] > @events[k - 1][0] }
    @events[at - 1], @events[at] = @events.values_at(at, at - 1) if at
  end

  def written
    capacity = @header["event_capacity"]
    return (0...@events.size).first(capacity) if @header["mode"] == 1

    (0...@events.size).last(capacity)
  end

  def sequence(index)
    @torn.include?(index) ? 0 : index + 1
  end

  def whole(cut_at)
    (written - @torn).reject { |k| cut_at && slot(k) + 32 > cut_at }
  end

  def last_names
    @threads.reject { |number, *| number.zero? }.to_h { |thread| [thread[0], thread] }.values.sort
            .map { |thread| %w[number native_id name].zip(thread).to_h }
  end

  # A request is known when both its ends are there and no slot in between is spoilt.
  def requests_in(there)
    ends = @requests.to_h { |request| [request, request.events.values_at(0, -1).map { |event| @events.index(event) }] }
    seen = @requests.select { |request| there.intersect?(ends[request]) }
    known = seen.select do |request|
      from, to = ends[request]
      (ends[request] - there).empty? && @torn.none? { |k| k.between?(from, to) }
    end
    cut = there.count { |k| @alone.include?(@events[k]) }
    { "requests" => known.sort_by { |request| ends[request][1] }.map(&:description),
      "incomplete" => seen.size - known.size + cut }
  end
end

NAMED = [[1, 4242, "main"], [2, 4250, "puma srv tp 001"], [3, 4251, ""], [0, 4252, "not whole"],
         [3, 4251, "puma srv tp 002"], [4, 0, "Zoë's thread"]].freeze

# Both pool threads were in a request when the recording began, a third one starts, an unknown thread comes by.
AROUND = [
  [2 * MS, 1, KINDS[:state], 1, 1, 0], [2 * MS, 2, KINDS[:state], 0, 0, 0], [2 * MS, 3, KINDS[:state], 2, 0, 0],
  [3 * MS, 2, KINDS[:call_end], CALLS[:cache], 0, 0], [4 * MS, 2, KINDS[:request_end], 1, 302, 2],
  [5 * MS, 2, KINDS[:suspended], 1, 0, 0], [5 * MS, 3, KINDS[:resumed], 0, 0, 0],
  [6 * MS, 4, KINDS[:started], 0, 0, 0], [6 * MS + 1, 4, KINDS[:ready], 0, 0, 0],
  [7 * MS, 0, KINDS[:ready], 0, 0, 0], [8 * MS, 1, KINDS[:unknown], 7, 7, 7],
  [490 * MS, 4, KINDS[:exited], 0, 0, 0], [491 * MS, 3, KINDS[:request_begin], 0, 2, 0],
  [492 * MS, 3, KINDS[:call_begin], CALLS[:sql], 0, 0]
].freeze

def page(thread, at_ms, **options)
  Request.new(thread, at_ms * MS, [
                [:run, 4 * MS], [:call, :pool, [[:lock, 2 * MS, 300_001, 3], [:io, MS, 200_000, 1 << 3]]],
                [:call, :sql, [[:run, 10_000], [:io, 9 * MS, 1 * MS], [:run, 20_000]]], [:gc, 1_500_000, :begins],
                [:preempted, 100 * MS], [:run, 777], [:gc, 250_000, :sweeps],
                [:call, :cache, [[:call, :redis, [[:io, 400_000, 0]]], [:run, 5_000]]], [:run, 1]
              ], **options)
end

def small(thread, at_ms, **options)
  Request.new(thread, at_ms * MS, [[:run, 100_003], [:call, :http, [[:io, 3 * MS, 70_007]]], [:run, 9]], **options)
end

def pages
  [page(2, 10, busy: 2), page(3, 12, busy: 2, endpoint: 2, status: 404, flags: 1),
   page(2, 200), small(4, 230, status: 0, flags: 2, busy: 2), small(2, 400, status: 0, flags: 4)]
end

def write(folder, name, sample, story, cut_at = nil)
  type = sample.description["header"]["mode"] == 1 ? "events" : "bursts"
  File.binwrite(File.join(folder, "#{name}.#{type}"), sample.bytes(cut_at))
  document = { "sample" => "#{name}.#{type}", "story" => story }.merge(sample.description(cut_at))
  File.write(File.join(folder, "#{name}.json"), "#{JSON.pretty_generate(document)}\n")
end

def sampled
  requests = Array.new(9) do |k|
    k % 3 == 1 ? page(2, 100 * k, endpoint: k) : small([1, 3][k % 2], 100 * k, endpoint: k)
  end
  Sample.new(requests: requests, header: SAMPLING)
end

if $PROGRAM_NAME == __FILE__
  folder = ARGV.fetch(0, __dir__)
  trace = Sample.new(threads: NAMED, requests: pages, events: AROUND)
  write(folder, "trace", trace, "four threads, five requests, calls, the collector, and what was cut at both ends")
  full = Sample.new(threads: NAMED, requests: pages, events: AROUND, header: { "event_capacity" => 80 })
  write(folder, "full", full, "the same in a file of 80 events: the later ones are lost")
  dead = Sample.new(threads: NAMED, requests: pages, events: AROUND, header: { "state" => 1, "ended_mono_ns" => 0 })
  write(folder, "dead", dead.tear(60), "the process died while a thread wrote event 60")
  write(folder, "truncated", trace, "cut in the middle of event 90, as on a disk that filled up while copying",
        trace.slot(90) + 16)
  write(folder, "sampled", sampled, "nine requests in a ring of 64 events: the oldest are gone")
  write(folder, "sampled_torn", sampled.tear(84), "the same, while event 84 is being written")
end
