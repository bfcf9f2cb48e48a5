# frozen_string_literal: true

require_relative "support/powerband"

# Whatever ends a run early, nothing is left running, nothing that was measured is lost, and --resume goes on.
class InterruptionTest < PowerbandTest
  parallelize_me!

  ARMS = %w[threads=1 threads=2].freeze

  # One run broken off three times, each in the middle of a later block, and taken to its end.
  def test_a_run_broken_off_three_times_goes_on_each_time
    broken_off("INT", after: "compare-b01") do |ended|
      assert_equal 130, ended.code, ended.to_s
      assert_equal "interrupted", document["state"]
      assert_match(/go on with: powerband compare --resume \S+ --env MODE=…$/, ended.err)
      assert_match(/block 1 .*\[trial [23] of up to 1[34], about .* left, until \d\d:\d\d\]$/, ended.err)
    end
    broken_off("TERM", after: "compare-b02") do |ended|
      assert_equal 143, ended.code, ended.to_s
      assert_equal "interrupted", document["state"]
    end
    broken_off("KILL", after: "compare-b03") do |ended|
      assert_equal Signal.list["KILL"], ended.status.termsig
      assert_equal "running", document["state"]
      shown = powerband("report", run_folders.fetch(0))
      assert_equal 0, shown.code, shown.to_s
      assert_match(/\AThis run is not finished and has no answer yet: its process was killed\./, shown.out)
    end
    unknown = powerband("compare", "--resume", "none", "--runs", runs)
    assert_refused unknown, 2, %r{no .*/none/run\.json}, /powerband runs/
    assert_refused finish(bare_resume), 2, /give the same again: --env MODE=…$/
    ended = finish(bare_resume("--env", "MODE=any"), within: 180)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_operator ended.err.scan("(from before)").size, :>=, 1 + 4, "a pilot and two blocks at least are reused: #{ended}"
    whole = document
    assert_equal "done", whole["state"]
    refute_nil whole["verdict"]
    assert_every_block_is_whole whole
    assert_equal 1, run_folders.size
    assert_empty Dir[File.join(runs, "*/trials/*/flight")], "flight files go once they were used"
    assert_refused_with_another_workload
  end

  # The stages of tune build on each other: a resumed one must come to the same candidates, race and confirmation.
  def test_a_tune_broken_off_in_its_confirmation_goes_on_and_loses_nothing
    broken_off("INT", after: "confirm-b02", command: method(:tune)) { |ended| assert_equal 130, ended.code, ended.to_s }
    assert_a_resume_that_cannot_start_loses_nothing
    before = measured_trials
    ended = finish(tune(resume: true), within: 240)
    assert_includes [0, 3], ended.code, ended.to_s
    broken_block = before.select { |id| id.start_with?("confirm-b02") }
    assert_empty before - broken_block - measured_trials, "whole blocks are used again: #{ended}"
    assert_equal "done", document["state"]
    again = finish(tune(resume: true))
    assert_equal document["trials"].size, JSON.parse(again.out)["trials"].size, "a finished run is shown, not measured"
  end

  def test_the_server_dying_fails_its_trial_and_the_other_arms_go_on
    env = { "DIES_WITH_THREADS" => "3", "WAIT_MS" => "40" }
    ended = measured(*experiment("compare", "threads=1", "threads=3", "threads=2", app: "dies").drop(1),
                     env: env, within: 240)
    assert_includes [0, 3], ended.code, ended.to_s
    dying, others = document(run_folders.max)["trials"].partition { |trial| trial["settings"]["threads"] == 3 }
    assert_equal 2, dying.size, "given up after two failures"
    dying.each do |trial|
      assert_equal "failed", trial["status"]
      assert_match(/the server died \(exit status 7\)/, trial["reason"])
    end
    counted = others.count { |trial| %w[ok not_steady].include?(trial["status"]) }
    assert_operator counted, :>=, 7, ended.to_s
    assert_equal %w[w0t2], document(run_folders.max)["comparisons"].map { |comparison| comparison["candidate"] }
    assert_nothing_left_running
  end

  # What was measured of the other arm is shown, below the reason.
  def test_an_arm_that_dies_leaves_the_page_of_the_other
    env = { "DIES_WITH_THREADS" => "3", "WAIT_MS" => "40" }
    ended = measured(*experiment("compare", "threads=1", "threads=3", app: "dies").drop(1), env: env, within: 240)
    assert_equal 3, ended.code, ended.to_s
    assert_match(/\ANothing could be compared: single × 3 threads could not be\s+measured: the server died/, ended.out)
    assert_match(/^What was tried$/, ended.out)
    assert_match(/^single × 1\b.* \d+(\.\d)? /, ended.out)
  end

  # After the guard is killed, powerband cleans up.
  def test_the_guard_being_killed
    started = compare
    guard = await("a guard and its server", of: started) { marked_like(/__guard/).first if marked_like(/puma/).any? }
    Process.kill(:KILL, guard)
    ended = finish(started)
    assert_equal 3, ended.code, ended.to_s
    assert_match(/the guard process is gone|guard/, ended.messages.join)
    assert_nothing_left_running
  end

  private

  def tune(resume: false, env: {})
    again = resume ? ["--resume", run_folders.fetch(0)] : []
    start(*experiment("tune", "--baseline", "threads=1", "--workers", 0, "--threads", "1,2,3", "--max-arms", 2),
          "--blocks", 6, "--budget", "20m", "--seed", 1, "--json", *again, env: LIGHT.merge(env))
  end

  def measured_trials
    document["trials"].reject { |trial| trial["status"] == "abandoned" }.map { |trial| trial["id"] }
  end

  def assert_a_resume_that_cannot_start_loses_nothing
    before = measured_trials
    ended = finish(tune(resume: true, env: { "PATH" => @dir }))
    assert_equal 2, ended.code, ended.to_s
    assert_equal before, measured_trials
  end

  def compare(resume: false, more: [])
    again = resume ? ["--resume", run_folders.fetch(0)] : []
    start(*experiment("compare", *ARMS), "--env", "MODE=any", *more, *again, env: LIGHT)
  end

  # What the run was asked is in its folder, but for what may be secret.
  def bare_resume(*words)
    start(BINARY, "compare", "--resume", run_folders.fetch(0), *words, env: LIGHT)
  end

  # Waits until the first trial of the block is on disk and the next server is up, and then sends the signal.
  def broken_off(signal, after:, command: method(:compare))
    started = command.call(resume: !run_folders.empty?)
    await("a trial of #{after}", within: 120, of: started) do
      Dir[File.join(runs, "*/trials/#{after}-*.json")].any? && marked_like(/puma/).any?
    end
    started.signal(signal)
    ended = finish(started)
    assert_nothing_left_running
    assert_nothing_half_written
    yield ended
  end

  # A block is the unit of evidence: whatever was broken off was measured again from its beginning.
  def assert_every_block_is_whole(document)
    counted = document["trials"].reject { |trial| trial["status"] == "abandoned" || trial["stage"] == "pilot" }
    blocks = counted.group_by { |trial| trial["block"] }
    assert_equal (1..6).to_a, blocks.keys.sort
    blocks.each_value { |trials| assert_equal %w[w0t1 w0t2], trials.map { |trial| trial["arm"] }.sort }
    assert_operator document["trials"].count { |trial| trial["status"] == "abandoned" }, :>=, 1
    ids = document["trials"].map { |trial| trial["id"] }
    assert_equal ids.uniq, ids
  end

  def assert_refused_with_another_workload
    ended = finish(compare(resume: true, more: ["--path", "/another"]))
    assert_refused ended, 2, /the workload has changed since/, /start a new run/
    assert_equal "done", document["state"]
  end
end
