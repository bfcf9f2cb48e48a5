# frozen_string_literal: true

require_relative "../support/known_answer"

# The known answers that take longer to show.
class LongKnownAnswersTest < KnownAnswerTest
  # Half of the I/O under one lock of the process: the lock serves one request in 7.5 ms, so no more than
  # 20 / 7.5 = 2.7 threads are busy, whatever the GVL split says (T* = 4, since a lock looks like I/O to the GVL).
  def test_a_lock_that_looks_like_io_wants_fewer_threads_than_its_split_suggests
    known_answer("locked", threads: "1,2,3,4,6,8", baseline: "threads=6,workers=0", arms: 5) do
      assert_operator @document["profile"]["useful_threads"], :>, 3.5, story
      assert_operator recommended, :<, @document["profile"]["useful_threads"], story
    end
  end

  # 0.3 ms of Ruby and 30 ms of waiting: T* is about 100.
  def test_near_pure_io_wants_many_threads
    known_answer("io", threads: "1,4,8,16,32", baseline: "threads=4,workers=0", arms: 4) do
      assert_operator chosen["threads"], :>=, 16, story
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
