# frozen_string_literal: true

require_relative "../support/known_answer"

# Applications whose best configuration is known beforehand. The claims are the procedure's own verdicts and intervals;
# no test looks at an absolute time or rate.
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

  # Whatever won the elimination rounds meets the baseline; the second one may have been eliminated.
  def winner_confirmed
    won = @document["arms"].select { |arm| arm["fate"].include?("won the elimination rounds") }.map { |arm| arm["name"] }
    deciding = @document["comparisons"].select { |comparison| comparison["stage"] == "confirm" }
    against_today = deciding.select { |comparison| comparison["baseline"] == @document["arms"].first["name"] }
    assert_equal 1, won.size, story
    assert_includes against_today.map { |comparison| comparison["candidate"] }, won.first, story
  end

  # T* = 1 + 15/5 = 4; bursts that are not evenly spread leave a little more to gain beyond it.
  def test_five_ms_of_ruby_and_fifteen_of_io_want_four_to_seven_threads
    known_answer("mixed", threads: "1,2,4,5,7,10,14", baseline: "threads=1,workers=0", arms: 4) do
      assert_includes 4..7, chosen["threads"], story
      assert_equal "better", confirmed["outcome"], story
      assert_operator confirmed["low"], :>, 2.0, story
      winner_confirmed
      simulated
      counted
    end
  end

  # The lock is named, and no number of threads is predicted to serve more than it lets pass.
  def lock_known
    assert_equal "config.ru:16", @document.dig("profile", "lock", "site"), story
    predicted = @document["model"]["predictions"].map { |at| at["capacity_per_s"] }
    assert_operator predicted.max, :<=, 1.1 * 1000 / 7.5, story
  end

  # Half of the waiting is under one lock of the process, which serves one request in 7.5 ms: beyond 20 / 7.5 = 2.7 threads, more
  # of them wait for the lock and carry nothing. The wait for the lock is no I/O, so that T* = 1 + 15/5 = 4 at most,
  # and the model has the lock.
  def test_a_lock_is_no_io_and_has_its_place_in_the_model
    known_answer("locked", threads: "1,2,3,4,6,8", baseline: "threads=6,workers=0", arms: 5) do
      profile = @document["profile"]
      assert_operator profile["lock_wait_ms"], :>, profile["io_ms"], story
      assert_in_delta 1 + (profile["io_ms"] / profile["held_ms"]), profile["useful_threads"], 0.001, story
      assert_operator profile["useful_threads"], :<, 5, story
      assert_operator recommended, :<=, 4, story
      lock_known
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
