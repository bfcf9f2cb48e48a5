# frozen_string_literal: true

require_relative "support/powerband"

# `powerband predict --validate` on the application with known bursts: the document, its tables, what it refuses, and
# that nothing is left of it. What errors there are on a busy host is nobody's to say: docs/validation.md has those of a
# quiet one.
class ValidateTest < PowerbandTest
  parallelize_me!

  # A tenth of a core: a busy host lengthens it little.
  LIGHT_BURSTS = { "HELD_MS" => "0.4", "WAIT_MS" => "8" }.freeze

  def test_two_configurations_are_predicted_and_tried
    markdown = File.join(@dir, "tables.md")
    document = scored("--threads", "2,5", "--loads", "60%", "--blocks", "1", "--window", "2s", "--trace", "5s",
                      "--markdown", markdown)
    trials = document["trials"]
    windows = trials.map { |trial| [trial["settings"]["threads"], trial["load"]] }
    assert_equal [2, 5].product([nil, 0.6]).to_set, windows.to_set
    assert_equal 4, windows.size
    counting = trials.reject { |trial| trial["refused"] }
    refute_empty counting, document["warnings"].join("\n")
    counting.each { |trial| assert_scored(trial, document["window_s"]) }
    assert_equal document, JSON.parse(File.read(Dir[File.join(runs, "*/validation.json")].max))
    assert_includes File.read(markdown), "powerband predict --validate"
    assert_includes File.read(markdown), "| configuration | load |"
  end

  def test_an_interruption_leaves_nothing
    started = start(*words("--threads", "2", "--trace", "60s", "--window", "2s"), env: LIGHT_BURSTS)
    await("the trace", of: started) { started.err.include?("tracing single") }
    started.signal(:INT)
    ended = finish(started)
    assert_equal 130, ended.code, ended.to_s
    assert_nothing_left_running
    assert_no_run_folder
  end

  def test_what_is_wrong_is_told_at_once
    ended = powerband("predict", "--validate", "--app", File.join(APPS, "bursts"), "--loads", "50%,120%", "--blocks", "0",
                      "--budget", "5m", "--trace", "5", "--runs", runs)
    assert_refused ended, 2, /--loads = "120%"/, /--blocks = "0"/, /--budget with predict --validate/, /--trace = "5"/
    assert_no_run_folder
  end

  # A cluster of one worker accepts in another way than single mode.
  def test_what_a_trace_cannot_tell_is_refused
    ended = powerband(*words("--workers", "1,2").drop(1))
    assert_refused ended, 2, /a cluster of one worker/
    assert_no_run_folder
  end

  private

  def words(*more)
    bursts = File.join(APPS, "bursts")
    [BINARY, "predict", "--validate", "--app", bursts, "--workload", File.join(bursts, "workload.toml"),
     "--baseline", "threads=3,workers=0", "--runs", runs, *(["--workers", "0"] unless more.include?("--workers")), *more]
  end

  # A host that is too busy to be traced is asked again, as a person would.
  def scored(*more)
    3.times do
      ended = finish(start(*words("--json", *more), env: LIGHT_BURSTS), within: 240)
      next if ended.code == 3

      assert_equal 0, ended.code, ended.to_s
      assert_match(/\[server \d of \d, (about|a few) .* left, until \d\d:\d\d\]$/, ended.err)
      assert_empty Dir[File.join(runs, "*/{trace,trials/*}/flight")], "flight files go once they were used"
      assert_valid_document(ended.out, "validation-v1")
      return JSON.parse(ended.out)
    end
    flunk "this host is too busy to measure on"
  end

  # Both are figures of the same arrivals; how near they are is the host's to say, and no more than a factor is asked.
  def assert_scored(trial, window_s)
    predicted, measured = trial.values_at("predicted", "measured").map { |range| range["figures"] }
    [predicted, measured].each { |figures| assert(figures.values.all? { |x| x.positive? && x.finite? }, trial) }
    assert_includes 0.1..10, predicted["mean_ms"] / measured["mean_ms"], trial
    return unless trial["load"]

    # An open loop below its capacity answers what it is offered.
    assert_includes 0.5..2, predicted["throughput_per_s"] * window_s / trial["requests"], trial
    assert trial["error"]["figures"].values.all?(&:finite?), trial
  end
end
