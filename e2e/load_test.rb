# frozen_string_literal: true

require "csv"
require "rexml/document"
require_relative "support/nginx"
require_relative "support/powerband"

# `powerband load` against a real nginx and a real Puma: what it says it sent is what the server saw, and how it ends.
class LoadTest < PowerbandTest
  include Nginx

  # So few that no p99 is quoted of them, and a busy host that wakes the generator late now and then takes no verdict away.
  FEW = 90

  def test_requests_and_clients_are_exactly_those_asked_for
    site = nginx
    document = loaded(site.url("/page?x=1"), "-n", 500, "-c", 4, "--keep-alive")
    assert_equal [500, 500, 500, 0], document["counts"].values_at("asked", "sent", "ok", "failed")
    assert_equal 4, document["counts"]["connections"]
    assert_equal 500, site.lines.size
    assert(site.lines.all? { |line| line.include?("GET /page?x=1 HTTP/1.1") })
    assert_equal({ "200" => 500 }, document["statuses"])
    assert_equal "GET /page", document["endpoints"].fetch(0)["name"]
  end

  def test_a_broken_page_is_named_among_others
    workload = File.join(@dir, "workload.toml")
    File.write(workload, %w[/ /bad].map { |path| "[[request]]\npath = '#{path}'\n" }.join)
    document = loaded(nginx.url, "--workload", workload, "-n", 60)
    assert_match(%r{\ABroken: GET /bad: (\d+) of \1 requests failed; the first: answered 500\.\z},
                 document["warnings"].first)
  end

  def test_a_connection_for_each_request
    site = nginx
    document = loaded(site.url, "-n", 60, "-c", 3)
    assert_equal({ "keep_alive" => false }, document["asked"]["sending"])
    assert_equal 60, document["counts"]["connections"]
    assert_equal 60, site.lines.size
  end

  def test_an_open_loop_with_a_row_a_second_and_a_histogram_log
    site = nginx
    rows, log = %w[rows.csv run.hlog].map { |name| File.join(@dir, name) }
    document = loaded(site.url, "--rate", "20..60", "--arrivals", "constant", "--duration", "3s", "--csv", rows,
                      "--hdr-log", log, "--seed", 7)
    asked = document["counts"]["asked"]
    assert_includes 119..121, asked, "the integral of the ramp"
    assert_equal asked, site.lines.size
    table = CSV.read(rows, headers: true)
    assert_equal asked, table.sum { |row| Integer(row["asked"]) }
    assert_equal asked, table.sum { |row| Integer(row["ok"]) + Integer(row["failed"]) }
    # Rows are as long as the generator took between two looks, and the last may hold late answers alone.
    rates = table.map { |row| row.values_at("asked", "length_s").map(&:to_f) }.reject { |n, _| n.zero? }.map { |n, s| n / s }
    assert_operator rates.first, :<, rates.last, "it rises"
    lines = File.readlines(log)
    assert_match(/\A#\[Histogram log format version 1\.3\]/, lines.first)
    assert_operator lines.grep(/\A\d/).size, :>=, 3
    assert_equal lines.grep(/\A\d/).size, lines.grep(/\ATag=service,/).size
    assert_equal [7, 40.0], document["asked"].values_at("seed", "mean_rate_per_s")
  end

  def test_rows_on_stdout_leave_the_page_to_stderr
    site = nginx
    ended = powerband("load", site.url, "-n", 30, "--csv", "-")
    assert_equal 0, ended.code, ended.to_s
    assert_match(/\Astart_s,/, ended.out)
    assert_match(/30 requests scheduled/, ended.err)
    refute_match(/target rate/, ended.out)
  end

  def test_files_that_cannot_be_written_take_no_verdict_away
    site = nginx
    full = ["--csv", "/dev/full", "--hdr-log", "/dev/full"]
    fails = powerband("load", site.url, "-n", FEW, "--assert", "p50=1us", *full)
    assert_equal 1, fails.code, fails.to_s
    assert_match(/#{FEW} requests scheduled/, fails.out)
    assert_match(/p50/, fails.err)
    %w[--csv --hdr-log].each { |flag| assert_equal 1, fails.err.scan(%(#{flag} = "/dev/full")).size, fails.to_s }
    assert_equal 2, powerband("load", site.url, "-n", 30, *full).code
  end

  def test_the_page
    ended = measured("load", nginx.url, "-n", 300, "-c", 2, "--quiet")
    assert_equal 0, ended.code, ended.to_s
    assert_empty ended.err
    assert_match(/300 requests scheduled, 300 sent, 300 answered, 0 failed/, ended.out)
    assert_match(/^response .*–.* users wait$/, ended.out, "p99.9 of 300 requests is not shown")
    assert_match(/^Generator: .* of CPU a request/, ended.out)
  end

  def test_assertions
    site = nginx
    holds = powerband("load", site.url, "-n", FEW, "--assert", "p90=1m,errors=0%", "--assert", "max=1m")
    assert_equal 0, holds.code, holds.to_s
    fails = powerband("load", site.url, "-n", FEW, "--assert", "p90=1us,errors=0%")
    assert_equal 1, fails.code, fails.to_s
    assert_match(/p90=1us fails: .* times the limit$/, fails.messages.join)
    assert_equal 1, fails.messages.size, "only failures are reported"
    bad = powerband("load", site.url("/bad"), "-n", FEW, "--assert", "errors=0.1%,p90=1m", "--json")
    assert_equal 1, bad.code, bad.to_s
    assert_match(/#{FEW} of #{FEW} requests failed \(100\.000 %\), at most 0\.1 % may$/, bad.messages.join)
    outcomes = JSON.parse(bad.out)["assertions"].to_h { |assertion| assertion.values_at("assertion", "outcome") }
    assert_equal({ "errors=0.1%" => "fails", "p90=1m" => "fails" }, outcomes, "a failed request is infinitely slow")
  end

  def test_assertions_as_junit
    site = nginx
    report = File.join(@dir, "report.xml")
    fails = powerband("load", site.url, "-n", FEW, "--assert", "p90=1us,errors=0%", "--assert", "GET /:p99=1m", "--junit", report)
    assert_equal 1, fails.code, fails.to_s
    suite = REXML::Document.new(File.read(report)).root.elements["testsuite"]
    assert_equal %w[3 1 1], %w[tests failures errors].map { |count| suite.attributes[count] }
    cases = suite.get_elements("testcase").to_h { |one| [one.attributes["name"], one.elements.map(&:name)] }
    assert_equal({ "p90=1us" => ["failure"], "errors=0%" => [], "GET /:p99=1m" => ["error"] }, cases, "a p99 needs 100 requests")
    refused = powerband("load", site.url, "-n", FEW, "--junit", report)
    assert_equal 2, refused.code, refused.to_s
    assert_match(/--junit reports assertions, and there is none; add --assert/, refused.err)
  end

  def test_assertions_by_page
    site = nginx
    workload = File.join(@dir, "workload.toml")
    File.write(workload, %w[/ /bad].map { |path| "[[request]]\npath = '#{path}'\n" }.join)
    asserted = ["--assert", "GET /:p50=1m", "--assert", "GET /bad:errors=0.1%"]
    ended = powerband("load", site.url, "--workload", workload, "-n", FEW, *asserted, "--quiet")
    assert_equal 1, ended.code, ended.to_s
    assert_match(%r{^Every request failed of: GET /bad\.$}, ended.out)
    assert_match(/GET .bad:errors=0\.1% fails: (\d+) of \1 requests failed/, ended.err)
    gone = powerband("load", site.url, "--workload", workload, "-n", FEW, "--assert", "GET /gone:max=1m")
    assert_equal 2, gone.code, gone.to_s
    assert_match(%r{--assert = "GET /gone:max=1m": no request has this name; name one of: GET /, GET /bad}, gone.err)
    refute_match(/GET .:p50/, ended.err, "what holds is not told")
    without = powerband("load", site.url, "--workload", workload, "-n", FEW, "--quiet")
    assert_equal 0, without.code, without.to_s
    assert_match(%r{Every request failed of: GET /bad\. Nothing was asserted, .*: --assert errors=0\.1% does\.},
                 without.out.split.join(" "))
  end

  def test_a_run_in_which_every_request_failed_is_no_answer
    ended = powerband("load", nginx.url("/bad"), "-n", 30, "--quiet")
    assert_equal 3, ended.code, ended.to_s
    assert_match(/every request failed; .*500/, ended.err)
    assert_match(/\AAll 30 requests failed\.$/, ended.out)
  end

  def test_a_recording_is_sent_again
    site = nginx
    loaded(site.url("/one"), "-n", 20)
    recording = File.join(@dir, "access.log")
    FileUtils.cp(site.access_log, recording)
    document = loaded("http://127.0.0.1:#{site.port}", "--replay", recording, "--speed", "10x")
    assert_equal [20, 20], document["counts"].values_at("asked", "ok")
    assert_equal ["recorded", 10.0], document["asked"].values_at("arrivals", "speed")
    assert_equal 40, site.lines.size
  end

  def test_interrupted_it_shows_what_was_measured
    site = nginx
    started = start(BINARY, "load", site.url, "--rate", 50, "--duration", "10m", "--json")
    await("requests", of: started) { site.lines.size > 20 }
    started.signal(:INT)
    ended = finish(started)
    assert_equal 130, ended.code, ended.to_s
    assert_match(/interrupted/, ended.messages.join)
    document = valid(ended.out)
    assert_equal ["interrupted", 130], document.values_at("state", "exit_code")
    assert_operator document["counts"]["ok"], :>, 20
    assert_counted document
  end

  def test_a_server_that_goes_away_is_counted_and_not_given_up
    site = nginx
    started = start(BINARY, "load", site.url, "--rate", 50, "--duration", "4s", "--json")
    await("requests", of: started) { site.lines.size > 20 }
    stop(site, :KILL)
    document = valid(finish(started).out)
    assert_equal "done", document["state"]
    assert_in_delta 4, document["window_s"], 0.5, "the window is as long as was asked"
    assert_operator document["errors"].fetch("connect_refused"), :>, 20
    assert_nil document["response"]["p99_ms"], "infinite"
    assert_counted document
  end

  def test_puma_answers_clients_that_keep_their_connections_and_those_that_do_not
    site = puma(File.join(APPS, "hello"))
    [["--keep-alive"], [], ["--think", "5ms"]].each do |how|
      document = loaded(site.url, "-n", 100, "-c", 5, *how)
      assert_equal [100, 100, 0], document["counts"].values_at("asked", "ok", "failed"), how.inspect
    end
    stop(site)
  end

  private

  # The document of a run that is not about how well this host keeps its schedule.
  def loaded(*words)
    ended = powerband("load", *words, "--json", "--quiet")
    assert_includes [0, 3], ended.code, ended.to_s
    assert_match(/do not quote/, ended.err) if ended.code == 3
    valid(ended.out).tap { |document| assert_counted document }
  end

  def valid(text)
    assert_valid_document text, "load-v1"
    JSON.parse(text)
  end

  # Nothing is dropped in silence.
  def assert_counted(document)
    counts = document["counts"]
    assert_equal counts["asked"], counts["ok"] + counts["failed"] + counts["cut"]
    assert_equal counts["failed"], document["errors"].values.sum
  end
end
