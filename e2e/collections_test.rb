# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/servers"
require_relative "../gem/test/support/flight_reader"

# The log of collections: `powerband trace --gc` and what `powerband inspect` makes of it, on a real Puma. What is true the
# application says itself, from GC.stat and GC.latest_gc_info.
class CollectionsTest < PowerbandTest
  parallelize_me!

  include Servers

  def test_each_collection_is_there_with_the_kind_and_the_cause_that_ruby_says
    site = collecting
    first = ask(site, "/")
    answers = %w[/start /minor /retain /start /minor /retain].map { |path| ask(site, path) }
    document = log

    assert_equal site.started.pid, document["processes"].fetch(0)["pid"]
    assert_equal 0, document["processes"].fetch(0)["lost"]
    between = document["collections"].select { |c| c["number"].between?(first["count"] + 1, answers.last["count"]) }
    last = answers.last
    assert_equal last["count"] - first["count"], between.size
    %w[minor major].each do |kind|
      key = "#{kind}_gc_count"
      assert_equal last[key] - first[key], between.count { |c| c["kind"] == kind }, kind
    end
    answers.each do |answer|
      collection = between.find { |c| c["number"] == answer["count"] }
      assert_equal answer.values_at("kind", "major_by", "cause"), collection.values_at("kind", "major_by", "cause")
    end
    forced = between.select { |c| c["cause"] == "method" }
    assert_equal ["GET /minor", "GET /start"], forced.map { |c| c["request"] }.uniq.sort
    assert(forced.all? { |c| c["waited"] == 1 }, forced.inspect)
    assert(between.all? { |c| c["pause_ms"] >= c["longest_pause_ms"] })
    assert(between.all? { |c| c["live_before"].positive? && c["heap_after_bytes"].positive? })
    assert_operator between.map { |c| c["old_after"] }.max, :>, between.first["old_before"]
    assert_page_and_window(document)
    stop(site)
  end

  def test_inspect_says_what_the_slowest_requests_waited_for
    site = collecting
    ask(site, "/hold")
    Net::HTTP.start("127.0.0.1", site.port) do |http|
      1_100.times { |n| http.get(n % 50 == 49 ? "/start" : "/") }
    end
    await("the last request's record") { inspected["requests"]["requests"] == 1_101 }
    document = inspected
    collections = document.fetch("collections")

    started = collections["kinds"].find { |k| k.values_at("kind", "cause") == %w[major method] }
    assert_equal 22, started["count"]
    requests = collections.fetch("requests")
    assert_equal [1_101, 11], requests.values_at("requests", "slowest")
    assert_operator requests["by_major"]["share"], :>, 0.5
    assert_operator requests["p99_without_ms"], :<, requests["p99_ms"]
    assert_equal 1_101 - requests["untouched"], stopped
    page = powerband("inspect", flight_dir)
    assert_equal 0, page.code, page.to_s
    words = page.out.gsub(/\s+/, " ")
    assert_match(/Of the slowest 1 % of requests \(11 of 1,101\), [\d.]+ % waited for a major collection/, words)
    page.out.lines.each { |line| assert_operator line.chomp.length, :<=, 100, line }
    stop(site)
  end

  def test_nothing_to_print_and_words_that_do_not_go_together
    ended = powerband("trace", "--gc", flight_dir)
    assert_equal 2, ended.code, ended.to_s
    site = collecting
    ask(site, "/start")
    { [flight_dir, "--pid", "1"] => [3, /--pid = 1: no process of that number/],
      [flight_dir, "--last", "soon"] => [2, /--last = "soon"/],
      [flight_dir, "--gvl"] => [2, /--gvl/], [flight_dir, "--for", "3s"] => [2, /--for/] }.each do |words, (code, said)|
      ended = powerband("trace", "--gc", *words)
      assert_equal code, ended.code, ended.to_s
      assert_match said, ended.err
    end
    stop(site)
  end

  private

  def assert_page_and_window(document)
    page = powerband("trace", "--gc", flight_dir, env: { "COLUMNS" => "200" })
    assert_equal 0, page.code, page.to_s
    assert_match(/major, GC\.start/, page.out)
    assert_match(/major, (oldgen|nofree|shady|oldmalloc)/, page.out)
    narrow = powerband("trace", "--gc", flight_dir)
    narrow.out.lines.each { |line| assert_operator line.chomp.length, :<=, 100, line }
    assert_operator log("--last", "1h")["collections"].size, :>=, document["collections"].size
    file = document["processes"].fetch(0)["file"]
    ended = powerband("trace", "--gc", file, "--json")
    assert_equal document["collections"], JSON.parse(ended.out)["collections"]
    File.write(File.join(@dir, "collections.json"), ended.out)
    again = powerband("report", File.join(@dir, "collections.json"), env: { "COLUMNS" => "200" })
    assert_equal powerband("trace", "--gc", file, env: { "COLUMNS" => "200" }).out, again.out
  end

  def collecting
    puma(File.join(APPS, "collecting"), before: [BINARY, "run", "--flight-dir", flight_dir, "--"], threads: 1)
  end

  def flight_dir
    File.join(@dir, "flight")
  end

  def ask(site, path)
    JSON.parse(site.get(path).body)
  end

  def log(*words)
    ended = powerband("trace", "--gc", flight_dir, "--json", *words)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "collections-v1")
    JSON.parse(ended.out)
  end

  def inspected
    ended = powerband("inspect", flight_dir, "--json")
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "inspect-v1")
    JSON.parse(ended.out)
  end

  # Requests that the collector stopped, by the records themselves. Ruby enters it for less only to look whether it has work.
  def stopped
    FlightReader.all(flight_dir).flat_map(&:records).count { |record| record[:gc_ns] >= 10_000 }
  end
end
