# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/servers"

# `powerband capacity` on the real binary: what is no answer; the curve of the storefront is in long/.
class CapacityTest < PowerbandTest
  parallelize_me!

  include Servers

  def test_an_objective_that_nothing_meets
    ended = answered("capacity", "--app", File.join(APPS, "io"), "--path", "/", "--slo", "p99=20ms", "--budget", "40s",
                     "--at-least", "5/s", "--json", "--runs", runs, env: LIGHT, within: 120)
    assert_equal 1, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    assert_match(/\[search, (about|a few) .* left, until \d\d:\d\d\]$/, ended.err)
    assert_empty Dir[File.join(runs, "*/flight")]
    assert_equal "not_even", document["search"]["ending"]
    assert_nil document["search"]["met_per_s"]
    # The page waits for 30 ms: more time would find nothing, and is not advised.
    assert_equal({ "per_s" => 5.0, "met" => false }, document["search"]["at_least"])
    assert_match(%r{\AIt does not serve 5.* No rate meets p99 ≤ 20 ms: the quickest of [\d,]+ answers of GET / took [3-9]\d ms},
                 document["sentence"])
    refute_includes ended.out, "longer --budget"
  end

  def test_a_server_that_refuses
    port = free_port
    ended = powerband("capacity", "http://127.0.0.1:#{port}/", "--slo", "p99=250ms", "--runs", runs)
    assert_refused ended, 3, /127\.0\.0\.1:#{port}: .*connection refused/
    assert_equal 1, ended.messages.size, ended.to_s
    assert_no_run_folder
  end

  def test_what_is_wrong_is_told_at_once
    ended = powerband("capacity", "--app", @dir, "--at", "5,x", "--at-least", "many", "--budget", "1s", "--runs",
                      runs)
    assert_refused ended, 2, /no objective; .*--slo p99=250ms/, /--at = "x"/, /--at-least = "many"/, /--budget = "1s": too short/
    assert_no_run_folder
  end

  def test_flags_that_would_change_nothing_are_refused
    ended = powerband("capacity", "http://127.0.0.1:1/", "--slo", "p99=250ms", "--blocks", "8", "--calibrate=10",
                      "--rate", "20", "--max-memory", "1GiB", "--margin", "5%", "--window", "3s", "--connections", "9",
                      "--baseline", "threads=5", "--runs", runs)
    assert_refused ended, 2, /--blocks = "8": .*compares none/, /--calibrate/, /--rate = "20": .*--at-least/, /--max-memory/,
                   /--margin = "5%": .*compares none/, /--window = "3s"/, /--connections = "9"/,
                   /--baseline = "threads=5": the server at the URL runs already/
    assert_no_run_folder
  end

  def test_another_machine_is_left_alone
    ended = powerband("capacity", "http://192.0.2.1/", "--slo", "p99=250ms", "--runs", runs)
    assert_refused ended, 2, /192\.0\.2\.1.*--allow-remote/
    assert_no_run_folder
  end
end
