# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/mirrors"

# What more clients than `powerband mirror` has room for can take from the others: nothing.
class MirrorLimitsTest < PowerbandTest
  parallelize_me!

  include Mirrors

  # As a service with a low LimitNOFILE.
  FEW_FILES = ["sh", "-c", 'ulimit -n 100 && exec "$0" "$@"'].freeze
  GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  def test_idle_clients_leave_descriptors_to_everybody_else
    mirror = mirror(puma(app("hello")), before: FEW_FILES)
    silent = Array.new(90) { connected(mirror.port) }
    served = Array.new(30) { connected(mirror.port) { |socket| assert_equal "200", ask(socket) } }
    10.times { assert_equal "200", Net::HTTP.get_response(URI(mirror.url)).code }
    counts = mirror.counts
    assert_equal [40, 0], counts.values_at("answered", "failed")
    assert_operator counts["most"], :<, 50
    assert_operator counts["open"], :<=, counts["most"]
    assert_operator counts["idle_closed"], :>=, 120 - counts["most"]
    assert_match(/^powerband_mirror_connections_limit #{counts["most"]}$/, mirror.metrics)
    assert_match(/^powerband_mirror_idle_closed_total \d+$/, mirror.metrics)
    await("a line that says so", of: mirror.started) do
      mirror.started.err.include?("idle connections were closed for new clients")
    end
    assert_match(/room for #{counts["most"]} clients at once \(100 files may be open/, mirror.started.err)
  ensure
    [*served, *silent].each(&:close)
  end

  def test_the_soft_limit_is_raised_to_the_hard_one
    mirror = mirror(puma(app("hello")), "--connections", "200", before: ["sh", "-c", 'ulimit -S -n 100 && exec "$0" "$@"'])
    soft, hard = File.read("/proc/#{mirror.started.pid}/limits").match(/^Max open files +(\S+) +(\S+)/).captures
    assert_equal hard, soft
    assert_match(/room for 200 clients at once \(--connections\)/, stop(mirror).err)
  end

  def test_shadows_that_would_leave_no_descriptor_for_a_client_are_refused
    words = ["--listen", "127.0.0.1:#{free_port}", "--primary", "http://127.0.0.1:1", "--shadow", "new=http://127.0.0.1:2"]
    ended = finish(start(*FEW_FILES, BINARY, "mirror", *words))
    assert_refused ended, 2, /100 files may be open, and \d+ are needed: 64 for connections to shadows.*--shadow-connections/
    primary = puma(app("hello"))
    config = File.join(@dir, "mirror.toml")
    File.write(config, "primary = \"#{primary.url.chomp('/')}\"\n")
    mirror = mirror(nil, "--config", config, before: FEW_FILES)
    before = mirror.counts["most"]
    File.write(config, "[shadow.new]\nurl = \"#{primary.url.chomp('/')}\"\n", mode: "a")
    mirror.started.signal(:HUP)
    await("a refusal", of: mirror.started) { mirror.started.err.include?("stays as it was: 100 files may be open") }
    File.write(config, "shadow_connections = 10\n", mode: "a")
    mirror.started.signal(:HUP)
    await("less room", of: mirror.started) { mirror.counts["most"] == before - 5 }
    assert_equal "hello\n", Net::HTTP.get(URI(mirror.url))
  end

  # Puma takes all of these heads.
  def test_limits_on_a_head_are_enforced_adjusted_or_reported
    primary = puma(app("hello"))
    heads = [fields(128), fields(129), bytes(64 << 10), bytes((64 << 10) + 1)]
    { [] => %w[200 431 200 431], %w[--max-fields 200] => %w[200 200 200 431], %w[--max-head 65KiB] => %w[200 431 200 200],
      %w[--strictness report] => %w[200 200 200 200] }.each do |flags, expected|
      mirror = mirror(primary, *flags)
      answers = heads.map { |head| TCPSocket.open("127.0.0.1", mirror.port) { |socket| ask(socket, head) } }
      assert_equal expected, answers, flags.inspect
      refused = expected.count("431")
      assert_equal [refused, 4 - refused], mirror.counts.values_at("refused", "answered")
      passed = flags.include?("report") ? %w[head_bytes head_fields] : []
      assert_equal passed, mirror.counts["tolerated"].select { |_, count| count == 1 }.keys.sort
      await_lines(mirror, passed, refused)
      assert_equal 0, stop(mirror).code
    end
  end

  def test_clients_do_not_see_what_the_system_says
    mirror = mirror(Serving.new(nil, free_port))
    answer = Net::HTTP.get_response(URI(mirror.url))
    assert_equal ["502", "502: the primary cannot be reached\n"], [answer.code, answer.body]
    await("the system's words", of: mirror.started) { mirror.started.err.include?("Connection refused") }
  end

  private

  def app(name) = File.join(APPS, name)

  def connected(port)
    TCPSocket.new("127.0.0.1", port).tap { |socket| yield socket if block_given? }
  end

  # A request with so many fields.
  def fields(count) = GET.sub("\r\n\r\n", "\r\n#{"X: 1\r\n" * (count - 1)}\r\n")

  # A request whose head has so many bytes.
  def bytes(count) = GET.sub("Host: a", "Host: a\r\nX: #{'x' * (count - GET.bytesize - 5)}")

  # The log has a line for each kind of head that passed, and one where some were refused.
  def await_lines(mirror, passed, refused)
    lines = passed.map { |cause| "passed (#{cause}): --strictness enforce would refuse it: 1 so far" }
    lines << "refused (too_large): " if refused.positive?
    lines.each { |line| await("a line with #{line}", of: mirror.started) { mirror.started.err.include?(line) } }
    assert_equal passed.size, mirror.started.err.scan("--strictness enforce").size
  end

  # The status of an answer, which is read whole.
  def ask(socket, request = GET)
    socket.write(request)
    io = Net::BufferedIO.new(socket, read_timeout: 60)
    answer = Net::HTTPResponse.read_new(io)
    answer.reading_body(io, true) { answer.body }
    answer.code
  end
end
