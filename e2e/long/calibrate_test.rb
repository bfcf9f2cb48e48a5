# frozen_string_literal: true

require_relative "../support/calibration"
require_relative "../support/powerband"

# The comparison that follows a calibration, also one that was broken off.
class LongCalibrateTest < PowerbandTest
  include Calibration

  def test_an_interrupted_calibration_goes_on_and_the_comparison_follows
    words = calibrated("threads=1", "threads=3", "--seed", 7)
    before = broken_off_in_its_third_block(words, env: LIGHT)
    ended = finish(start(*words, "--resume", run_folders.fetch(0), env: LIGHT), within: 400)
    return assert_equal("refused", document["calibration"]["fitness"]) if refused?(ended)

    assert_includes [0, 3], ended.code, ended.to_s
    assert_empty before - document["trials"].map { |trial| trial["id"] }, "trials of the first sitting are gone"
    assert_calibration(document["calibration"])
    assert_equal ["compare"], document["comparisons"].map { |comparison| comparison["stage"] }
  end
end
