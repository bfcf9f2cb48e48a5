# frozen_string_literal: true

require_relative "support/powerband"

# `tune --quick`: six blocks of today's configuration and of one candidate, without elimination rounds.
class QuickTest < PowerbandTest
  parallelize_me!

  ASKED = %w[--threads 1,4 --workers 0 --max-arms 2].freeze

  def test_one_candidate_meets_the_baseline_in_six_blocks_or_more
    # The budget of the variable is for runs that are not quick.
    ended = powerband(*experiment("tune", "--quick", "--baseline", "threads=1", *ASKED).drop(1),
                      env: { "POWERBAND_BUDGET" => "20m" }, within: 300)
    assert_equal 0, ended.code, ended.to_s
    refute_includes document["trials"].map { |trial| trial["stage"] }, "race"
    # A slow host takes as long as six blocks need.
    assert_operator document["plan"]["budget_s"], :>=, 180
    assert_equal 0, document["plan"]["race_blocks"]
    assert_operator document["plan"]["blocks"], :>=, 6
    assert_match(/^Run single × 4 threads: it answers/, ended.out)
    assert_match(/^plan \(single × 1 thread; single × 4 threads.*\): \d+ blocks of the deciding comparison/, ended.err)
    assert_match(/single × 4 threads is the only candidate that was tried.*--max-arms 3 or more tries several/,
                 ended.out.split.join(" "))
    assert_nothing_left_running
    answer_again(document["id"])
  end

  def test_what_takes_longer_is_refused
    assert_refused powerband("tune", "--quick", "--budget", "5m", "--app", @dir, "--runs", runs), 2,
                   /--budget = "5m": --quick takes 3m; leave one of the two out/
    File.write(File.join(@dir, "powerband.toml"), %([objective]\nleast = "latency"\n[[workload.request]]\npath = "/"\n))
    assert_refused powerband("tune", "--quick", "--app", @dir, "--runs", runs), 2,
                   /--quick has no time for objective\.least in powerband\.toml; give a --budget in place of --quick/
    refused = powerband("tune", "--since", "nowhere", "--budget", "5m", "--runs", runs)
    assert_refused refused, 2, %r{--since = "#{runs}/nowhere": there is no run in}, /powerband runs lists/
    assert_no_run_folder
  end

  private

  # With the answer as today's configuration.
  def answer_again(run)
    ended = powerband(*experiment("tune", "--since", run, "--blocks", "6", "--baseline", "threads=4", *ASKED).drop(1),
                      within: 300)
    assert_equal 0, ended.code, ended.to_s
    since = run_folders.filter_map { |folder| document(folder)["since"] }.fetch(0)
    assert_equal [run, "still_right"], since.values_at("run", "standing")
    assert_includes ended.out.split.join(" "),
                    "The earlier answer (#{run}: single × 4 threads) is still right: this run has the same answer."
    assert_match(/running Ruby +\d+\.\d ms +\d+\.\d ms/, ended.out)
    assert_match(/known from earlier runs of this application \(#{run}\): equal trials differ by \d+\.\d %/, ended.err)
    assert_includes ended.out.split.join(" "), "Known from earlier runs of this application (#{run}): "
    assert_nothing_left_running
  end
end
