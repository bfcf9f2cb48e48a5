# frozen_string_literal: true

# Reads an events file, and asks a process for one, for the tests, as contract/events-v1.md says.
class EventsReader
  HEADER = {
    version: [8, "L<"], header_size: [12, "L<"], mode: [16, "L<"], state: [20, "L<"], request: [24, "Q<"],
    thread_offset: [32, "Q<"], thread_size: [40, "L<"], thread_capacity: [44, "L<"], event_offset: [48, "Q<"],
    event_size: [56, "L<"], one_in: [60, "L<"], event_capacity: [64, "Q<"], pid: [72, "L<"], worker_index: [76, "l<"],
    start_ticks: [80, "Q<"], created_wall_ns: [88, "Q<"], created_mono_ns: [96, "Q<"], deadline_mono_ns: [104, "Q<"],
    began_mono_ns: [112, "Q<"], ended_mono_ns: [120, "Q<"], thread_count: [128, "L<"], claimed: [192, "Q<"]
  }.freeze
  KINDS = %i[none started exited ready resumed suspended gc_enter gc_exit request_begin request_end call_begin call_end
             state].freeze
  TRACE_REQUEST = 472

  Event = Struct.new(:index, :mono_ns, :thread, :kind, :detail, :code, :argument)
  Named = Struct.new(:number, :native_id, :name)

  # Torn ones by number; of those beyond the end of a file that was cut off, how many.
  attr_reader :header, :threads, :events, :torn, :missing

  class << self
    # A trace of the process of a flight file, until `seconds` from now, in a file of this many events. The keywords
    # spoil the file or its header on purpose.
    def ask(flight_path, request:, seconds: 60, events: 10_000, mode: 0o600, allocated: true, **header)
      path = flight_path.sub(/\.flight\z/, ".events")
      File.open("#{path}.new", File::RDWR | File::CREAT | File::EXCL, mode) do |file|
        bytes = asking(FlightReader.new(File.binread(flight_path)), request, seconds, events, header)
        allocated ? file.write(bytes) : (file.write(bytes.byteslice(0, 4096)) && file.truncate(bytes.bytesize))
      end
      File.rename("#{path}.new", path)
      word(flight_path, request)
      path
    end

    # A kind that this version does not know stays a number.
    def kind(number)
      KINDS.fetch(number, number)
    end

    def word(flight_path, request)
      File.open(flight_path, "r+b") { |file| file.pwrite([request].pack("Q<"), TRACE_REQUEST) }
    end

    private

    def asking(flight, request, seconds, events, header)
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      values = {
        version: 1, header_size: 4096, mode: 1, state: 0, request:, thread_offset: 4096, thread_size: 64,
        thread_capacity: 64, event_offset: 8192, event_size: 32, event_capacity: events, pid: flight[:pid],
        worker_index: flight[:worker_index], start_ticks: flight[:start_ticks], created_mono_ns: now,
        deadline_mono_ns: now + (seconds * 1_000_000_000).round
      }.merge(header)
      bytes = "\0".b * (8192 + (events * 32))
      bytes[0, 8] = "PBEVENTS"
      values.each { |name, value| bytes[HEADER[name][0], [value].pack(HEADER[name][1]).bytesize] = [value].pack(HEADER[name][1]) }
      bytes
    end
  end

  def initialize(bytes)
    raise ArgumentError, "no events file" unless bytes.start_with?("PBEVENTS")

    @bytes = bytes
    @header = HEADER.transform_values { |(offset, format)| bytes.unpack1(format, offset:) }
    @threads = read_threads
    @torn = []
    @missing = 0
    @events = slots.filter_map { |k| read_event(k) }
  end

  def [](name)
    header.fetch(name)
  end

  def kinds
    events.map(&:kind)
  end

  # The events of one thread, by its name.
  def of(name)
    number = threads.find { |thread| thread.name == name }&.number
    events.select { |event| event.thread == number }
  end

  private

  def slots
    return (0...[header[:claimed], header[:event_capacity]].min) if header[:mode] == 1

    ([header[:claimed] - header[:event_capacity], 0].max...header[:claimed])
  end

  def read_threads
    named = (0...header[:thread_capacity]).map do |i|
      number, native_id, name = @bytes.unpack("L<L<Z56", offset: header[:thread_offset] + (i * header[:thread_size]))
      Named.new(number, native_id, name.force_encoding("UTF-8"))
    end
    # The last entry of a thread counts.
    named.reject { |thread| thread.number.zero? }.to_h { |thread| [thread.number, thread] }.values
  end

  def read_event(index)
    offset = header[:event_offset] + ((index % header[:event_capacity]) * header[:event_size])
    if offset + 32 > @bytes.bytesize
      @missing += 1
      return
    end
    sequence, *rest = @bytes.unpack("Q<Q<L<CCS<Q<", offset:)
    unless sequence == index + 1
      @torn << index
      return
    end
    rest[2] = self.class.kind(rest[2])
    Event.new(index, *rest)
  end
end
