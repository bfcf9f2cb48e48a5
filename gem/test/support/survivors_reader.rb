# frozen_string_literal: true

# Reads a survivors file, and asks a process for one, for the tests, as contract/survivors-file-v1.md says.
class SurvivorsReader
  HEADER = {
    version: [8, "L<"], header_size: [12, "L<"], state: [16, "L<"], refusal: [20, "L<"], request: [24, "Q<"], pid: [32, "L<"],
    worker_index: [36, "l<"], start_ticks: [40, "Q<"], created_wall_ns: [48, "Q<"], created_mono_ns: [56, "Q<"],
    deadline_mono_ns: [64, "Q<"], last_mono_ns: [72, "Q<"], began_mono_ns: [80, "Q<"], ended_mono_ns: [88, "Q<"],
    every: [96, "L<"], collections: [100, "L<"], capacity: [104, "Q<"], used: [112, "Q<"], allocated: [120, "Q<"],
    sampled: [128, "Q<"], internal: [136, "Q<"], lost: [144, "Q<"], undecided: [152, "Q<"], frames: [160, "L<"],
    sites: [164, "L<"]
  }.freeze
  SIZE = 4096

  Frame = Struct.new(:path, :label)
  Step = Struct.new(:frame, :line) do
    def to_s = "#{frame.path}:#{line}"
  end
  Site = Struct.new(:class_name, :steps, :sampled, :promoted, :died, :promoted_bytes, :died_bytes) do
    # The innermost line of a file that Ruby read.
    def made_at = steps.find { |step| step.line.positive? && step.frame.path.start_with?("/") }&.to_s

    # The innermost line of this file.
    def line_in(path) = steps.find { |step| step.frame.path == path }&.line
  end

  attr_reader :header, :frames, :sites

  # Asks the process of a flight file for a recording; the keywords spoil the file on purpose.
  def self.ask(flight_path, request:, seconds: 60, follow: 60, every: 1, bytes: 4 << 20, mode: 0o600, **header)
    path = flight_path.sub(/\.flight\z/, ".survivors")
    flight = FlightReader.new(File.binread(flight_path))
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    values = {
      version: 1, header_size: SIZE, state: 0, request:, pid: flight[:pid], worker_index: flight[:worker_index],
      start_ticks: flight[:start_ticks], created_mono_ns: now, deadline_mono_ns: now + (seconds * 1_000_000_000).round,
      last_mono_ns: now + ((seconds + follow) * 1_000_000_000).round, every:, capacity: bytes
    }.merge(header)
    File.open("#{path}.new", File::RDWR | File::CREAT | File::EXCL, mode) do |file|
      content = "PBSURVIV".b.ljust(SIZE + bytes, "\0")
      values.each do |name, value|
        offset, format = HEADER[name]
        content[offset, [value].pack(format).bytesize] = [value].pack(format)
      end
      file.write(content)
    end
    File.rename("#{path}.new", path)
    EventsReader.word(flight_path, request)
    path
  end

  def initialize(bytes)
    raise ArgumentError, "no survivors file" unless bytes.start_with?("PBSURVIV")

    @bytes = bytes
    @header = HEADER.transform_values { |(offset, format)| bytes.unpack1(format, offset:) }
    @at = SIZE
    @frames = Array.new(header[:frames]) { read_frame }
    @sites = Array.new(header[:sites]) { read_site }
  end

  def [](name) = header.fetch(name)

  private

  def take(size) = @bytes.byteslice((@at += size) - size, size)

  def text(size) = take(size).force_encoding("UTF-8")

  def read_frame
    path, label = take(8).unpack("L<L<")
    Frame.new(text(path), text(label))
  end

  def read_site
    name, depth, *counts = take(48).unpack("L<L<Q<5")
    class_name = text(name)
    steps = Array.new(depth) do
      frame, line = take(8).unpack("L<l<")
      Step.new(frames.fetch(frame), line)
    end
    Site.new(class_name, steps, *counts)
  end
end
