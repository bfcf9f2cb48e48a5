# frozen_string_literal: true

require_relative "../support/powerband"

# One comparison of a configuration with itself, and what --json and --quiet promise about the streams. The repeated
# ones are in e2e/aa.rb.
class IdenticalArmsTest < PowerbandTest
  # A test at 5 % errs once in twenty times by its own promise, so one false positive is asked again; two in a row would
  # come once in four hundred times.
  def test_identical_arms_are_neither_better_nor_worse
    outcome = compared
    outcome = compared if %w[better worse].include?(outcome)
    assert_includes %w[equivalent undecided], outcome
  end

  private

  def compared
    ended = measured(*experiment("compare", "threads=2", "threads=2", "--json", "--quiet").drop(1),
                     env: LIGHT, within: 240)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_valid_run_document(ended.out)
    assert_empty ended.err, "progress in spite of --quiet"
    assert_shown
    comparison, *others = JSON.parse(ended.out)["comparisons"]
    assert_empty others
    assert_equal %w[w0t2 w0t2-again], comparison.values_at("baseline", "candidate")
    assert_includes 1..6, comparison["blocks"]
    comparison["outcome"]
  end

  # The page of the same run, and its document again from the folder.
  def assert_shown
    page = powerband("report", "--runs", runs)
    assert_equal 0, page.code, page.to_s
    assert_match(/against/, page.out)
    again = powerband("report", "--runs", runs, "--json")
    assert_valid_run_document(again.out)
  end
end
