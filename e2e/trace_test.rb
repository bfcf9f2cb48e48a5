# frozen_string_literal: true

require "json"
require "net/http"
require "socket"
require_relative "support/powerband"

# `powerband trace --gvl` on a real Puma, by the real binary.
class TraceTest < PowerbandTest
  parallelize_me!

  def test_threads_requests_and_the_collector_of_a_running_server
    serving do |port|
      ended = while_busy(port) { trace("--for", "1500ms", "--json", "--svg", svg) }
      assert_equal 0, ended.code, ended.to_s
      assert_valid_document(ended.out, "trace-v1")
      process = JSON.parse(ended.out)["processes"].fetch(0)
      assert_operator process["requests"], :>, 0
      assert_operator process["collections"], :>, 0
      assert_equal [0, 0], process.values_at("lost", "torn")

      assert_sound(trace_file)
      events = JSON.parse(File.read(trace_file))["traceEvents"]
      names = events.select { |e| e["name"] == "thread_name" }.map { |e| e.dig("args", "name") }
      assert_equal 3, names.grep(/puma srv tp \d+/).size, names.inspect
      slices = events.select { |e| e["ph"] == "X" }
      assert_includes slices.map { |e| e["cat"] }, "gc"
      assert_includes slices.map { |e| e["name"] }, "I/O or sleep"
      whole = requests_in(trace_file)
      refute_empty whole
      whole.each do |request|
        parts = request["args"].values_at("running_ms", "gvl_wait_ms", "lock_ms", "io_ms").sum
        assert_in_delta request["dur"] / 1000, parts, 0.001, "what a request did fills it"
        assert_equal 200, request["args"]["status"]
      end
      assert_match(/\A<svg/, File.read(svg))
      assert_empty Dir[File.join(flight_dir, "*/*.events*")]
    end
  end

  def test_twice_and_a_file_that_was_kept
    serving do |port|
      while_busy(port) do
        2.times do
          ended = trace("--for", "1s", "--keep")
          assert_equal 0, ended.code, ended.to_s
          folder = Regexp.escape(File.dirname(recorded.fetch(0)))
          assert_match(/^--keep leaves 1 file \(\*\.events, \d+ MiB\) in #{folder};/, ended.err)
        end
      end
    end
    ended = powerband("trace", "--gvl", recorded.fetch(0), "--output", trace_file)
    assert_equal 0, ended.code, ended.to_s
    assert_sound(trace_file)
  end

  def test_a_server_that_is_killed_meanwhile
    serving do |port, started|
      tracing = start(BINARY, "trace", "--gvl", flight_dir, "--for", "4s", "--output", trace_file)
      while_busy(port) do
        await("events") { recorded.any? { |file| claimed(file) > 50 } }
        started.signal(:KILL)
      end
      ended = finish(tracing)
      assert_equal 0, ended.code, ended.to_s
      assert_sound(trace_file)
    end
  end

  def test_two_workers_one_of_which_is_killed_meanwhile
    serving("-w", "2") do |port|
      await("both workers") { workers == [0, 1] }
      tracing = start(BINARY, "trace", "--gvl", flight_dir, "--for", "4s", "--json", "--output", trace_file)
      while_busy(port) do
        await("both workers' events") { recorded.size == 2 && recorded.all? { |file| claimed(file) > 50 } }
        Process.kill(:KILL, File.basename(recorded[0]).to_i)
        ended = finish(tracing)
        assert_equal 0, ended.code, ended.to_s
        processes = JSON.parse(ended.out)["processes"]
        assert_equal ["puma worker 0", "puma worker 1"], processes.map { |p| p["name"] }.sort
        assert(processes.all? { |p| p["requests"].positive? })
      end
      assert_sound(trace_file)
      slices = JSON.parse(File.read(trace_file))["traceEvents"].select { |e| e["ph"] == "X" }
      ends = slices.group_by { |e| e["pid"] }.transform_values { |of| of.map { |e| e["ts"] + e["dur"] }.max }
      assert_equal 2, ends.size
      refute_equal(*ends.values, "of the one that was killed nothing is said after its death")
    end
  end

  # The activity of a fiber that the thread starts counts for the request.
  def test_requests_that_run_in_fibers
    serving do |port|
      ended = while_busy(port, "/fibers") { trace("--for", "1s") }
      assert_equal 0, ended.code, ended.to_s
    end
    assert_sound(trace_file)
    whole = requests_in(trace_file)
    refute_empty whole
    whole.each do |request|
      assert_operator request["args"]["io_ms"], :>=, 5, "both fibers' sleep"
      parts = request["args"].values_at("running_ms", "gvl_wait_ms", "lock_ms", "io_ms").sum
      assert_in_delta request["dur"] / 1000, parts, 0.001
    end
  end

  def test_one_that_serves_nothing_says_so
    serving do
      ended = trace("--for", "100ms")
      assert_equal 3, ended.code, ended.to_s
      assert_match(/nothing was recorded.*served no request in that time/m, ended.messages.join)
      ended = trace("--pid", Process.pid)
      assert_equal 3, ended.code, ended.to_s
      assert_match(/--pid = #{Process.pid}: no living process of that number/, ended.messages.join)
    end
    assert_refused trace, 3, /no living process records into/
    refute_path_exists trace_file
  end

  # Puma's own objects are sampled as well; the lines are those of the application.
  def test_which_lines_objects_survive
    serving(app: "surviving") do |port|
      files = %w[speedscope.json folded.txt].map { |name| File.join(@dir, name) }
      ended = while_busy(port) do
        powerband("trace", "--survivors", flight_dir, "--for", "1s", "--every", "4", "--json", "--speedscope", files[0],
                  "--folded", files[1])
      end
      assert_equal 0, ended.code, ended.to_s
      assert_valid_document(ended.out, "survivors-v1")
      document = JSON.parse(ended.out)
      kept = line_of(document, "Object", 7)
      assert_operator kept["old"]["sampled"], :>, 0
      assert_operator kept["old"]["sampled"], :>=, 0.9 * (kept["old"]["sampled"] + kept["young"]["sampled"])
      { ["String", 8] => "freeze", ["Array", 9] => "constant" }.each do |(class_name, number), change|
        dropped = line_of(document, class_name, number)
        assert_operator dropped["young"]["sampled"], :>, 0
        assert_equal [change], dropped["advice"].map { |advice| advice["change"] }, dropped.to_s
      end
      profiles = JSON.parse(File.read(files[0]))["profiles"]
      assert_equal document.values_at("old", "young").map { |all| all["objects"] },
                   profiles.values_at(0, 2).map { |one| one["endValue"] }
      assert_match(/^become old;.*block.*config\.ru:7;Class#new;Object \d+$/, File.read(files[1]))
      assert_empty Dir[File.join(flight_dir, "*/*.survivors*")]
      page = powerband("report", File.join(@dir, "document.json").tap { |path| File.write(path, ended.out) })
      assert_match(/What may be changed.*config\.ru:8 \(text = "not frozen"\)/m, page.out)
    end
  end

  def test_nobody_there
    Dir.mkdir(flight_dir)
    assert_refused trace, 3, /no living process records into/, /powerband run/
    assert_refused trace("--pid", "1"), 3, /--pid = 1/
    ended = trace("--pid", "puma")
    assert_equal 2, ended.code, ended.to_s
    assert_match(/'puma' for '--pid/, ended.err)
  end

  # As of `inspect` and `predict`.
  def test_without_a_server_there_is_no_answer
    Dir.mktmpdir do |empty|
      nowhere = File.join(empty, "flights")
      by_variable = powerband("trace", "--gvl", env: { "POWERBAND_DIR" => nowhere })
      [by_variable, powerband("trace", "--gvl", nowhere)].each do |ended|
        assert_refused ended, 3, /#{Regexp.escape(nowhere)} is not there; start the server with powerband run/
      end
    end
  end

  def test_wrong_arguments_are_told_together
    ended = powerband("trace", flight_dir, "--for", "5", "--buffer", "1KiB")
    assert_refused ended, 2, /--gvl/, /--for/, /--buffer/, /is not there/
    ended = powerband("trace", "--survivors", "--gvl")
    assert_equal 2, ended.code, ended.to_s
    assert_refused powerband("trace", "--survivors", __FILE__), 2, /trace_test\.rb is no folder/
  end

  private

  def flight_dir
    File.join(@dir, "flight")
  end

  def trace_file
    File.join(@dir, "trace.json")
  end

  def svg
    File.join(@dir, "trace.svg")
  end

  def trace(*words)
    powerband("trace", "--gvl", flight_dir, "--output", trace_file, *words)
  end

  # Those of which both ends are there.
  def requests_in(path)
    JSON.parse(File.read(path))["traceEvents"].select { |e| e["cat"] == "request" && e.dig("args", "whole") }
  end

  def recorded
    Dir[File.join(flight_dir, "*/*.events")]
  end

  # Indices of those that have opened their flight files.
  def workers
    Dir[File.join(flight_dir, "*/*.flight")].map { |file| File.binread(file, 4, 104).to_s.unpack1("l<") }.grep(0..).sort
  end

  def claimed(file)
    File.binread(file, 8, 192).unpack1("Q<")
  end

  def line_of(document, class_name, number)
    document["lines"].find { |line| line["class"] == class_name && line["made_at"]&.end_with?("config.ru:#{number}") } ||
      flunk("no #{class_name} of line #{number}: #{document['lines'].map { |line| line.values_at('class', 'made_at') }}")
  end

  def serving(*words, app: "traced")
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    started = start(BINARY, "run", "--flight-dir", flight_dir, "--", "puma", "-t", "3:3", "-b", "tcp://127.0.0.1:#{port}", *words,
                    chdir: File.join(APPS, app))
    await("the server; so far:\n#{started.out}#{started.err}", within: 60) { answers?(port) }
    yield port, started
    started.signal(:KILL)
    finish(started)
  rescue Errno::ESRCH
    finish(started)
  end

  def answers?(port)
    Net::HTTP.get_response("127.0.0.1", "/", port).code == "200"
  rescue SystemCallError, IOError
    false
  end

  # Three clients, each request on a new connection, so that all workers serve; until the block is done or the
  # server is gone.
  def while_busy(port, path = "/")
    done = false
    clients = Array.new(3) do
      Thread.new do
        until done
          begin
            Net::HTTP.start("127.0.0.1", port) { |http| http.get(path) }
          rescue SystemCallError, IOError, Timeout::Error
            Thread.pass # a worker was killed, or all of the server
          end
        end
      end
    end
    yield
  ensure
    done = true
    clients.each(&:join)
  end

  def assert_sound(path)
    ended = finish(start(testkit("validate-trace"), path))
    assert_equal 0, ended.code, ended.to_s
  end
end
