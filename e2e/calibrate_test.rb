# frozen_string_literal: true

require_relative "support/calibration"
require_relative "support/powerband"

# A configuration compared with itself: what the document holds of it, and that an interruption loses none of its blocks.
# The comparison that may follow it is in long/.
class CalibrateTest < PowerbandTest
  parallelize_me!

  include Calibration

  def test_one_configuration_alone_is_calibrated_and_an_interruption_loses_nothing
    words = calibrated("threads=2", "--seed", 7)
    before = broken_off_in_its_third_block(words, env: LIGHT)
    ended = finish(start(*words, "--resume", run_folders.fetch(0), "--json", "--quiet", env: LIGHT), within: 300)
    return assert_equal("refused", document["calibration"]["fitness"]) if refused?(ended)

    assert_equal 0, ended.code, ended.to_s
    assert_empty ended.err, "progress in spite of --quiet"
    assert_valid_run_document(ended.out)
    whole = JSON.parse(ended.out)
    assert_equal document, whole
    assert_empty before - whole["trials"].map { |trial| trial["id"] }, "trials of the first sitting are gone"
    assert_alone whole
    assert_match(/Identical configurations/, powerband("report", "--runs", runs).out)
  end

  def test_one_configuration_without_a_calibration_is_refused
    ended = powerband(*experiment("compare", "threads=2").drop(1))
    assert_refused ended, 2, /is compared with nothing/, /--calibrate/
    assert_no_run_folder
  end

  def test_too_few_blocks_are_refused
    ended = powerband(*experiment("compare", "threads=2", "--calibrate=5").drop(1))
    assert_refused ended, 2, /--calibrate = "5"/, /from 6 to 24/
    assert_no_run_folder
  end

  private

  # A pilot and six whole blocks of two, whatever was broken off beside them; and no comparison.
  def assert_alone(document)
    assert_calibration(document["calibration"])
    counted = document["trials"].reject { |trial| trial["status"] == "abandoned" }
    assert_equal %w[pilot] + (%w[calibrate] * 12), stages("trials" => counted)
    assert_equal "calibration", document["plan"]["detectable"]["source"]
    assert_empty document["comparisons"]
    assert_equal "table", document["verdict"]["answer"]
    assert_match(/against itself/, document["verdict"]["sentence"])
  end
end
