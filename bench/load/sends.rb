# frozen_string_literal: true

# When requests really left: their packets on the loopback interface, with the kernel's time stamps, seen by tcpdump. The
# same for every tool, whatever it says of itself.
class Sends
  Fit = Struct.new(:requests, :per_s, :within_50_us, :p99_us, keyword_init: true)
  WINDOW_NS = 50_000

  def self.available?
    system("command -v tcpdump >/dev/null 2>&1") && Process.uid.zero?
  end

  # Captures the requests that the block makes come to this port.
  def self.captured(port)
    file = Tempfile.create(["sends", ".pcap"]).tap(&:close).path
    reader, writer = IO.pipe
    tcpdump = Process.spawn("tcpdump", "-i", "lo", "-s", "80", "-B", "65536", "--time-stamp-precision=nano", "-Z", "root",
                            "-w", file, "tcp dst port #{port} and tcp[tcpflags] & tcp-push != 0",
                            err: writer, out: File::NULL)
    writer.close
    reader.gets until $LAST_READ_LINE&.include?("listening")
    result = yield
    Process.kill(:INT, tcpdump)
    Process.wait(tcpdump)
    dropped = reader.read[/(\d+) packets dropped by kernel/, 1].to_i
    raise "tcpdump lost #{dropped} packets" if dropped.positive?

    [result, new(File.binread(file))]
  ensure
    File.delete(file)
  end

  # The nanosecond pcap format: a file header, then a header and the first bytes of each packet.
  def initialize(bytes)
    raise "not a nanosecond pcap file" unless bytes.unpack1("L<") == 0xa1b23c4d

    @sends = Hash.new { |all, port| all[port] = [] }
    at = 24
    while at < bytes.bytesize
      seconds, nanos, length = bytes.unpack("L<L<L<", offset: at)
      # Ethernet 14 bytes, IPv4 20, then TCP's source port.
      @sends[bytes.unpack1("S>", offset: at + 16 + 34)] << ((seconds * 1_000_000_000) + nanos)
      at += 16 + length
    end
  end

  # Against an even schedule at this rate. Where it began is not known from outside, nor whether the tool has one schedule
  # or one for each connection; so whatever suits the tool best is taken. The first second is left to connecting.
  def fit(rate)
    begin_ns = @sends.values.filter_map(&:first).min + 1_000_000_000
    by_connection = @sends.values.map { |instants| instants.select { |at| at >= begin_ns } }.reject(&:empty?)
    all = by_connection.flatten.sort
    per_s = (all.size - 1) * 1e9 / (all.last - all.first)
    share, p99 = [[all], by_connection].map { |schedules| within(schedules, rate) }.max_by(&:first)
    Fit.new(requests: all.size, per_s:, within_50_us: share, p99_us: p99)
  end

  private

  # The share of sends that are at most 50 µs after their instants, and the p99 of how long after they are.
  def within(schedules, rate)
    kept = 0
    late = schedules.flat_map do |instants|
      gap = 1e9 * schedules.size / rate
      offsets = instants.each_with_index.map { |at, number| at - instants.first - (number * gap) }.sort
      start, count = best_start(offsets)
      kept += count
      offsets.map { |offset| (offset - start).abs }
    end
    [kept.fdiv(late.size), late.sort[(late.size * 0.99).floor] / 1e3]
  end

  # The beginning of the window of 50 µs that holds the most offsets, and how many it holds.
  def best_start(sorted)
    first = 0
    best = [sorted.first, 0]
    sorted.each_with_index do |offset, last|
      first += 1 while offset - sorted[first] > WINDOW_NS
      best = [sorted[first], last - first + 1] if last - first + 1 > best.last
    end
    best
  end
end
