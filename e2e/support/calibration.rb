# frozen_string_literal: true

# A configuration compared with itself before anything else: how it is asked for, and what the document holds of it.
module Calibration
  def calibrated(*words)
    experiment("compare", *words, "--calibrate=6")
  end

  def stages(document)
    document["trials"].map { |trial| trial["stage"] }
  end

  # Breaks a calibration off in its third block, when it has a pilot and three trials at least.
  def broken_off_in_its_third_block(words, env:)
    run = start(*words, env: env)
    await("the third block", within: 300, of: run) { begun? && stages(document).count("calibrate") >= 4 }
    run.signal(:INT)
    assert_equal 130, finish(run).code
    document["trials"].map { |trial| trial["id"] }
  end

  # Whether the run has its first document on disk.
  def begun?
    run_folders.any? { |folder| File.exist?(File.join(folder, "run.json")) }
  end

  # A fair host is refused at most once in twenty times.
  def refused?(ended)
    ended.code == 3 && ended.messages.join.include?("runs of six blocks")
  end

  def assert_calibration(calibration)
    assert_includes %w[sound widened], calibration["fitness"]
    assert_equal 0, calibration["allowance"] if calibration["fitness"] == "sound"
    assert_includes 6..6, calibration["blocks"]
    assert_equal 1, calibration["runs"]
    assert_operator calibration["low"], :<=, calibration["ratio"]
    assert_operator calibration["ratio"], :<=, calibration["high"]
    assert_operator calibration["sd_log_ratio"], :>=, 0
  end
end
