# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/servers"

# `powerband capacity` on the real binary: what is no answer; the curve of the storefront is in long/.
class CapacityTest < PowerbandTest
  include Servers

  def test_an_objective_that_nothing_meets
    ended = answered("capacity", "--app", File.join(APPS, "io"), "--path", "/", "--slo", "p99=20ms", "--budget", "40s",
                     "--json", "--runs", runs, env: LIGHT, within: 120)
    assert_equal 1, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    assert_equal "not_even", document["search"]["ending"]
    assert_nil document["search"]["met_per_s"]
    assert_match(/Not even .* requests a second meet p99 = 20 ms/, document["sentence"])
  end

  def test_a_server_that_refuses
    port = free_port
    ended = powerband("capacity", "http://127.0.0.1:#{port}/", "--slo", "p99=250ms", "--runs", runs)
    assert_refused ended, 3, /127\.0\.0\.1:#{port}: .*connection refused/
    assert_equal 1, ended.messages.size, ended.to_s
    assert_no_run_folder
  end

  def test_what_is_wrong_is_told_at_once
    ended = powerband("capacity", "--app", @dir, "--at", "5,x", "--budget", "1s", "--runs", runs)
    assert_refused ended, 2, /no objective; .*--slo p99=250ms/, /--at = "x"/, /--budget = "1s": too short/
    assert_no_run_folder
  end

  def test_another_machine_is_left_alone
    ended = powerband("capacity", "http://192.0.2.1/", "--slo", "p99=250ms", "--runs", runs)
    assert_refused ended, 2, /192\.0\.2\.1.*--allow-remote/
    assert_no_run_folder
  end
end
