# frozen_string_literal: true

require "json"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband predict` on what a real Puma recorded, by the real binary. No test asserts a time: the machine may be busy, so
# that the self-check only has to be sane, and orders are those that no noise turns.
class PredictTest < PowerbandTest
  parallelize_me!

  include Servers

  REQUESTS = 600

  def test_from_a_trace_with_bursts
    traced(POWERBAND_BURSTS: "1") { |_server| nil }
    ended = predict("--workers", "1..2", "--threads", "1..3", "--cores", "2", "--rate", "20,40", "--json")
    document = answered(ended)
    assert_valid_document(ended.out, "predict-v1")
    bless(ended.out)
    assert_sound document
    assert_operator document.dig("traced", "steps", "own"), :>=, REQUESTS
    assert_equal [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]], sizes(document)
    most = document["points"].to_h { |point| [point["size"].values, point["most_per_s"]] }
    # A request holds the GVL for 5 ms of 20: the second thread does nearly as much as the first, and a second process more.
    assert_operator most.fetch([1, 2]), :>, 1.5 * most.fetch([1, 1])
    assert_operator most.fetch([2, 2]), :>, 1.2 * most.fetch([1, 2])
    # Twice as long I/O: one thread is busy for 35 ms instead of 20.
    slower = JSON.parse(predict("--workers", "1", "--threads", "1", "--cores", "2", "--what-if", "io=2x", "--json").out)
    assert_equal [[1, 3], [1, 1]], sizes(slower), "the traced configuration is the first"
    assert_in_delta most.fetch([1, 3]), slower.dig("today", "most_per_s"), 0.01 * most.fetch([1, 3])
    ratio = slower["points"][1]["most_per_s"] / most.fetch([1, 1])
    assert_in_delta 20.0 / 35, ratio, 0.08
    assert_page
  end

  def test_from_totals_alone_with_wider_intervals
    # A pause is no part of the rate.
    traced("--rate", "60x5s,0x2s,60x5s") { |_server| nil }
    document = answered(predict("--threads", "2", "--workers", "1", "--json"))
    assert_sound document
    assert_operator document.dig("traced", "steps", "typical"), :>=, 500
    # Poisson: four standard deviations of 600 requests are 16 %.
    assert_in_delta 60, document.dig("traced", "rate_per_s"), 10
    assert(document["assumptions"].any? { |sentence| sentence.include?("s without a request are left out of the trace") })
    assert(document["assumptions"].any? { |sentence| sentence.include?("POWERBAND_BURSTS=1") })
    # 12 % of the p99 at least, where bursts may come to 5.
    assert_operator document.dig("self_check", "model_error", "p99_ms"), :>=, 0.12
  end

  def test_memory_of_a_server_that_still_runs_and_an_objective_that_nothing_keeps
    traced do
      ended = predict("--workers", "1..3", "--threads", "2", "--memory", "1MiB", "--objective", "p99=1ms", "--json")
      document = answered(ended, otherwise: 1)
      memory = document["points"].map { |point| point["memory_bytes"] }
      assert_equal memory.sort.uniq, memory
      assert(document["points"].all? { |point| point["fits"] == false })
      unless document.dig("self_check", "failed")
        assert_match(/Not one of the 3 configurations keeps p99 ≤ 1 ms/, document["sentence"])
      end
    end
    # It is gone, and with it what it used.
    document = JSON.parse(predict("--workers", "1", "--threads", "2", "--json").out)
    assert_nil document["memory"]
    given = predict("--workers", "1..2", "--threads", "2", "--memory", "1GiB", "--measured-memory", "1x2=600MiB", "--json")
    assert_equal [true, false], JSON.parse(given.out)["points"].map { |point| point["fits"] }
  end

  # A request sleeps for 7.5 ms under one lock, and never shorter: one process serves 1,000 / 7.5 a second at most.
  def test_a_lock_is_named_and_lets_so_many_pass_however_many_threads_there_are
    traced("--rate", "40", "-n", "520", app: "locked", POWERBAND_BURSTS: "1") { |_server| nil }
    inspected = JSON.parse(powerband("inspect", flight_dir, "--json").out)
    lock = inspected["locks"].first
    assert_equal ["config.ru:16", "mutex", 1], lock.values_at("site", "kind", "objects")
    assert_operator lock["held_ms"], :>=, 7.5
    # In possession of it a request does I/O and waits for the GVL.
    split = inspected.dig("requests", "split")
    assert_operator lock["held_ms"], :<, split["io_ms"] + split["gvl_wait_ms"]
    assert_operator lock["holds"], :>, 0.9 * inspected.dig("requests", "requests")

    document = answered(predict("--workers", "1..2", "--threads", "1,4,8", "--cores", "2", "--json"))
    most = document["points"].to_h { |point| [point["size"].values, point["most_per_s"]] }
    assert_operator most.fetch([1, 8]), :<=, 1000 / 7.5
    assert_operator most.fetch([1, 4]), :>, 1.3 * most.fetch([1, 1])
    assert_operator most.fetch([2, 8]), :>, 1.3 * most.fetch([1, 8])
    assert_match(/ the lock at config.ru:16 .* lets at most \d+ requests a second pass/, document["assumptions"].join("\n"))
  end

  def test_too_few_requests_and_nothing_at_all
    traced(requests: 60) { |_server| nil }
    assert_refused predict, 3, %r{: \S+/flight: \d+ recorded requests are too few: at least 500 are needed: }
    assert_refused powerband("predict", File.join(@dir, "nowhere")), 2, /nowhere/
    Dir.mkdir(File.join(@dir, "empty"))
    assert_refused powerband("predict", File.join(@dir, "empty")), 3, /no flight file/
  end

  def test_what_is_asked_wrongly_is_told_together
    ended = powerband("predict", @dir, "--rate", "0", "--threads", "4..1", "--cores", "0", "--quota", "none",
                      "--objective", "p101=5ms", "--what-if", "io=-1x", "--memory", "5", "--requests", "1")
    assert_refused ended, 2, /--rate/, /--threads/, /--cores/, /--quota/, /--objective/, /--what-if/, /--memory/, /--requests/
  end

  private

  def predict(*words)
    powerband("predict", flight_dir, *words, "--requests", "1000")
  end

  def flight_dir
    File.join(@dir, "flight")
  end

  # An application under Poisson arrivals at a rate that three threads carry on a busy machine too.
  def traced(*load, requests: REQUESTS, app: "mixed", **environment)
    env = environment.transform_keys(&:to_s)
    server = puma(File.join(APPS, app), before: [BINARY, "run", "--flight-dir", flight_dir, "--"], threads: 3, env: env)
    load = ["--rate", "60", "-n", requests.to_s] if load.empty?
    loaded = powerband("load", server.url, *load, "--no-keep-alive", "--quiet")
    assert_includes [0, 3], loaded.code, loaded.to_s # 3: the machine was too busy for figures of a load to be quoted
    yield server
  ensure
    stop(server) if server
  end

  # A machine that others keep busy makes the self-check fail: then nothing is recommended, the likely causes are named, and the
  # document has its predictions all the same.
  def answered(ended, otherwise: 0)
    document = JSON.parse(ended.out)
    check = document["self_check"]
    failed = check["error"].any? do |figure, error|
      Math.log(1 + error).abs > Math.log(check["most_apart"].fetch(figure))
    end
    assert_equal failed, check["failed"]
    assert_equal failed ? 3 : otherwise, ended.code, ended.to_s
    assert_equal failed, !check["causes"].empty?
    assert_match(/\ANo answer: /, document["sentence"]) if failed
    assert_nil document["begin_with"] if failed
    document
  end

  def sizes(document)
    document["points"].map { |point| point["size"].values_at("processes", "threads") }
  end

  # The model at the traced configuration: within a wide band, whatever the machine did meanwhile.
  def assert_sound(document)
    check = document["self_check"]
    ratio = check["predicted"]["p50_ms"] / check["recorded"]["p50_ms"]
    assert_operator ratio, :>, 0.3, check.to_s
    assert_operator ratio, :<, 2.0, check.to_s
    document["points"].flat_map { |point| point["rates"] }.filter_map { |rate| rate["answer"] }.each do |answer|
      %w[mean_ms p50_ms p95_ms p99_ms].each do |figure|
        low, value, high = %w[low figures high].map { |of| answer[of][figure] }
        assert_operator low, :<=, value
        assert_operator value, :<=, high
      end
    end
  end

  def assert_page
    page = predict("--workers", "1..2", "--threads", "1..2", "--rate", "20,40", "--objective", "p99=2s", "--memory", "1GiB")
    if page.code == 3
      assert_match(/\ANo answer: .* Likely causes - /, flat(page))
      return refute_includes(page.out, "What each can do")
    end
    assert_equal 0, page.code, page.to_s
    begun = /\AAt 20 a second \(the trace has [\d.]+\) begin with 1 process of \d threads?, the smallest configuration that keeps/
    assert_match(begun, flat(page))
    ["off by", "p99, ms, at other rates", "What each can do", "Before you believe it",
     "What this takes for granted"].each do |part|
      assert_includes page.out, part
    end
  end

  def flat(ended)
    ended.out.split.join(" ")
  end

  # The golden sample, where it is asked for.
  def bless(json)
    return unless ENV["POWERBAND_BLESS"]

    document = JSON.parse(json).merge("sources" => ["/var/lib/powerband"])
    File.write(File.join(ROOT, "contract/samples/predict/mixed.json"), "#{JSON.pretty_generate(document)}\n")
  end
end
