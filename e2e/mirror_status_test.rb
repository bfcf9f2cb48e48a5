# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/mirrors"
require_relative "support/promtool"

# The status page of `powerband mirror`: who may ask for it, how long that may take, and what it and the log say.
class MirrorStatusTest < PowerbandTest
  parallelize_me!

  include Mirrors
  include Promtool

  def test_slow_questions_hold_up_neither_the_status_page_nor_the_end
    mirror = mirror(puma(app("hello")))
    first = dripping(mirror.status_port)
    assert_equal 0, mirror.counts["received"]
    await("the end of a question that takes too long") { !first.alive? }
    several = Array.new(3) { dripping(mirror.status_port) }
    assert_equal 0, stop(mirror).code
    several.each(&:join)
  end

  def test_the_status_page_is_for_its_own_names_and_only_to_be_read
    mirror = mirror(puma(app("hello")), "--status-host", "Mirror.internal")
    status = lambda do |host, verb = Net::HTTP::Get|
      request = verb.new("/status.json", "Host" => host)
      Net::HTTP.start("127.0.0.1", mirror.status_port) { |http| http.request(request) }
    end
    assert_equal %w[200 200 421], ["localhost:1", "mirror.internal", "evil.example"].map { |host| status.call(host).code }
    assert_match(/--status-host/, status.call("evil.example").body)
    refute_match(/received/, status.call("evil.example").body)
    assert_equal "405", status.call("localhost", Net::HTTP::Delete).code
    head = status.call("localhost", Net::HTTP::Head)
    assert_equal "200", head.code
    assert_operator head["Content-Length"].to_i, :>, 100
  end

  def test_readiness_ends_before_service_does
    mirror = mirror(puma(app("hello")), "--lame-duck", "1h")
    probe = ->(path) { Net::HTTP.get_response("127.0.0.1", path, mirror.status_port).code }
    mirror.started.signal(:USR1)
    assert_equal %w[200 200], %w[/livez /readyz].map(&probe)
    mirror.started.signal(:TERM)
    await("/readyz to say that it ends") { probe.call("/readyz") == "503" }
    assert_equal %w[200 200], [probe.call("/livez"), Net::HTTP.get_response(URI(mirror.url)).code]
    mirror.started.signal(:TERM)
    assert_equal Signal.list["TERM"], finish(mirror.started).status.termsig
  end

  def test_a_status_host_is_a_name_of_a_status_page
    ended = powerband("mirror", "--primary", "http://127.0.0.1:1", "--status-host", "http://a:80")
    assert_refused ended, 2, %r{--status-host = "http://a:80"}, /no --status/
  end

  def test_failures_refusals_and_the_log_have_causes
    mirror = mirror(Serving.new(nil, free_port), "--quiet")
    assert_equal "502", Net::HTTP.get_response(URI(mirror.url("/?token=opensesame"))).code
    refused = TCPSocket.open("127.0.0.1", mirror.port) { |socket| [socket.write("GET /?opensesame\r\n\r\n"), socket.read].last }
    assert_match(%r{\AHTTP/1.1 400 }, refused)
    metrics = mirror.metrics
    assert_match(/^powerband_mirror_failed_total{cause="unreachable"} 1$/, metrics)
    assert_match(/^powerband_mirror_refused_total{cause="malformed"} 1$/, metrics)
    assert_match(/^powerband_build_info{version="[^"]+"} 1$/, metrics)
    assert_operator metrics[/^process_open_fds (\d+)$/, 1].to_i, :<, metrics[/^process_max_fds (\d+)$/, 1].to_i
    assert_promtool metrics
    time = /^powerband: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/
    [/#{time} failed \(unreachable\): .* 1 so far; for example 127\.0\.0\.1:\d+: .*Connection refused/,
     /#{time} refused \(malformed\): .* 1 so far; for example from this machine: /].each do |line|
      await("a line of the log", of: mirror.started) { mirror.started.err.match?(line) }
    end
    refute_includes mirror.started.err, "opensesame"
  end

  def test_a_recording_ends_at_its_limit_and_the_mirror_goes_on
    file = File.join(@dir, "traffic.pbc")
    mirror = mirror(puma(app("hello")), "--record", file, "--record-limit", "1MiB")
    recording = -> { mirror.status.dig("written", "recording") }
    assert_equal "recording", recording.call.fetch("state")
    random = Random.new(1)
    await("the end of the recording") do
      noise = Array.new(4000) { random.rand(10_000).to_s(36) }.join(" ")
      Net::HTTP.get(URI(mirror.url), { "X-Noise" => noise })
      recording.call.fetch("state") == "limit_reached"
    end
    assert_equal "200", Net::HTTP.get_response(URI(mirror.url)).code
    metrics = mirror.metrics
    assert_match(/^powerband_mirror_recorder_state{recorder="recording",state="limit_reached"} 1$/, metrics)
    assert_match(/^powerband_mirror_primary_answers_total{status="2xx"} [1-9]/, metrics)
    assert_promtool metrics
    written = recording.call
    assert_operator File.size(file), :<=, 1 << 20
    ended = stop(mirror)
    assert_equal 1, ended.err.scan(/--record: .*traffic.pbc: the files have reached the limit of 1048576 bytes/).size
    info = JSON.parse(powerband("capture", "info", file, "--json").out)
    assert_equal written.fetch("records"), info.fetch("requests")
    assert_operator info.fetch("requests"), :>, 10
  end

  def test_a_full_disk_pauses_a_recording_until_there_is_room
    with_tmpfs(20) do |disk|
      file, filler = %w[traffic.pbc filler].map { |name| File.join(disk, name) }
      mirror = mirror(puma(app("hello")), "--record", file)
      await_recording(mirror) { |recording| recording.fetch("records").positive? }
      assert_raises(Errno::ENOSPC) { File.write(filler, "x" * (30 << 20)) }
      # What is left of the last page takes some records.
      await_recording(mirror) { |recording| recording.fetch("state") == "paused" }
      File.unlink(filler)
      await_recording(mirror) { |recording| recording.fetch("state") == "recording" }
      ended = stop(mirror)
      assert_equal 0, ended.code, ended.to_s
      assert_match(/Z --record: #{file}: the disk is full \(No space left on device.*0 MiB are free/, ended.err)
      assert_match(/Z --record: #{file}: there is room again: recording resumes; \d+ records were lost/, ended.err)
      assert_match(/recording: \d+ records were not written: \d+ no_space/, ended.err)
      info = JSON.parse(powerband("capture", "info", file, "--json").out)
      assert_nil info["damage"]
      assert_operator info.fetch("requests"), :>, 1
    end
  end

  def test_a_limit_without_a_recording_is_refused
    ended = powerband("mirror", "--primary", "http://127.0.0.1:1", "--record-limit", "1KiB")
    assert_refused ended, 2, /--record-limit = "1KiB".*at least 1MiB/, /no file is recorded/
  end

  private

  def app(name) = File.join(APPS, name)

  # Sends requests until the recording is so.
  def await_recording(mirror)
    await("the recording", of: mirror.started) do
      Net::HTTP.get(URI(mirror.url))
      yield mirror.status.dig("written", "recording")
    end
  end

  # A small disk for the length of a block.
  def with_tmpfs(mebibytes)
    folder = File.join(@dir, "disk")
    Dir.mkdir(folder)
    said, status = Open3.capture2e("mount", "-t", "tmpfs", "-o", "size=#{mebibytes}m", "tmpfs", folder)
    skip "a tmpfs cannot be mounted here: #{said}" unless status.success?
    begin
      yield folder
    ensure
      system("umount", "--lazy", folder)
    end
  end

  # Sends a question byte by byte until nobody listens any more.
  def dripping(port)
    socket = TCPSocket.new("127.0.0.1", port)
    Thread.new do
      socket.write("GET /status.json HTTP/1.1\r\nHost: localhost\r\nX: ")
      loop do
        socket.write("x")
        break if socket.wait_readable(0.1)
      end
    rescue SystemCallError
      nil
    ensure
      socket.close
    end
  end
end
