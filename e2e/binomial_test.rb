# frozen_string_literal: true

require "minitest/autorun"
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
end
