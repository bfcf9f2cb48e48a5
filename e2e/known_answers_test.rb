# frozen_string_literal: true

require_relative "support/known_answer"

# An application whose best configuration is known beforehand. The claims are the procedure's own verdicts and intervals;
# no test looks at an absolute time or rate. The other three of the four are in long/.
class KnownAnswersTest < KnownAnswerTest
  # The simulator chose what was tried, from the pilot's own bursts, and each later trial says what it had said.
  def simulated
    model, tried = @document.values_at("model", "trials")
    assert_equal "simulator", model["kind"], model["reason"]
    assert model["trace"]["bursts"]
    predicted = model["predictions"].to_h { |at| [at["threads"], at["capacity_per_s"]] }
    assert_operator predicted[4], :>, 2.0 * predicted[1]
    assert_operator predicted[14], :<, 1.3 * predicted[5]
    assert_equal [false, true], tried.map { |trial| trial.key?("predicted") }.uniq
    assert_operator model["score"]["pairs"], :>, 0
  end

  # Fewer servers, by as much as one carries more.
  def counted
    today, then_ = @document.dig("fleet", "servers")
    assert_equal "capacity", @document.dig("fleet", "basis")
    assert_operator then_["servers"], :<, 0.6 * today["servers"]
    [today, then_].each do |needed|
      assert_equal (1000 / needed["each_per_s"]).ceil, needed["servers"]
      assert_in_delta 90.0 * needed["servers"], needed["cost"]
    end
  end

  # T* = 1 + 15/5 = 4; bursts that are not evenly spread leave a little more to gain beyond it.
  def test_five_ms_of_ruby_and_fifteen_of_io_want_four_to_seven_threads
    known_answer("mixed", threads: "1,2,4,5,7,10,14", baseline: "threads=1,workers=0", arms: 4) do
      assert_includes 4..7, chosen["threads"], story
      assert_equal "better", confirmed["outcome"], story
      assert_operator confirmed["low"], :>, 2.0, story
      simulated
      counted
    end
  end
end
