# frozen_string_literal: true

require "minitest/autorun"
require_relative "../bench/mirror/claims"
require_relative "support/binomial"

# Judges the judge of the repeated comparisons against values that can be computed by hand.
class BinomialTest < Minitest::Test
  def test_values_computed_by_hand
    assert_in_delta 1.0, Binomial.at_least(0, of: 20, at: 0.05), 1e-12
    assert_in_delta 1 - (0.95**20), Binomial.at_least(1, of: 20, at: 0.05), 1e-12
    assert_in_delta 0.05**3, Binomial.at_least(3, of: 3, at: 0.05), 1e-15
    assert_in_delta 11 / 16.0, Binomial.at_least(2, of: 4, at: 0.5), 1e-12
  end

  def test_four_of_twenty_pass_and_five_do_not
    assert Binomial.plausible?(4, of: 20, at: 0.05)
    refute Binomial.plausible?(5, of: 20, at: 0.05)
  end

  def test_of_forty_runs_with_identical_shadows_four_may_claim_a_difference
    assert_match(/\A2 of 40 runs claim a difference: at most 5 %\. The shadow named first was faster in 20/, series(2).summary)
    assert_match(/more than 5 %, but a rate of 5 % leads to as many or more in 13\.8 % of such series/, series(4).summary)
    assert_match(/: a rate of 5 % leads to as many or more in 4\.8 % of such series, so the rate is higher\./, series(5).summary)
    assert_equal [true, true, false], [2, 4, 5].map { |claims| series(claims).allowed? }
    assert_includes series(5).table, "| one | none | 20 | 5 |\n| other | none | 20 | 0 |\n| either | either | 40 | 5 |"
  end

  def test_the_place_in_which_a_shadow_is_named_has_no_advantage
    assert_predicate series(0), :orders_alike?
    [0.9, 1.1].each do |ratio|
      refute_predicate Claims.new([Claims::Run.new("one", "none", ratio, "undecided")] * 18), :orders_alike?
    end
  end

  private

  # Forty runs in both orders, in half of which the first shadow was faster.
  def series(claims)
    runs = Array.new(40) do |number|
      outcome = number < claims ? %w[better worse][number % 2] : "undecided"
      Claims::Run.new(number < 20 ? "one" : "other", "none", number.even? ? 1.1 : 0.9, outcome)
    end
    Claims.new(runs)
  end
end
