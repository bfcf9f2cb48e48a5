# frozen_string_literal: true

require_relative "support/known_answer"

# Applications whose best configuration is known beforehand. The claims are the procedure's own verdicts and
# intervals; no test looks at an absolute time or rate. The other two of the four are in long/.
class KnownAnswersTest < KnownAnswerTest
  # T* = 1 + 15/5 = 4; bursts that are not evenly spread leave a little more to gain beyond it.
  def test_five_ms_of_ruby_and_fifteen_of_io_want_four_to_seven_threads
    known_answer("mixed", threads: "1,2,4,5,6,7,10,14", baseline: "threads=1,workers=0", arms: 5) do
      assert_includes 4..7, chosen["threads"], story
      assert_equal "better", confirmed["outcome"], story
      assert_operator confirmed["low"], :>, 2.0, story
    end
  end

  # Nothing to overlap: more threads add waiting for the GVL and nothing else.
  def test_pure_ruby_work_wants_one_or_two_threads
    known_answer("cpu", threads: "1,2,3,5", baseline: "threads=5,workers=0", arms: 3) do
      assert_includes 1..2, recommended, story
      assert_includes %w[change smaller undecided], @document["verdict"]["answer"], story
    end
  end
end
