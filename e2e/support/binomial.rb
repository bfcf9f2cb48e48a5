# frozen_string_literal: true

# The binomial distribution, with exact binomial coefficients.
module Binomial
  # A count that is less likely than this refutes the rate.
  LEAST_LIKELY = 0.01

  module_function

  # Whether a process with that rate would come to `count` or more often enough.
  def plausible?(count, of:, at:)
    at_least(count, of:, at:) >= LEAST_LIKELY
  end

  # Probability of `count` or more successes in `of` trials that succeed at the rate `at` each.
  def at_least(count, of:, at:)
    (count..of).sum { |successes| choose(of, successes) * (at**successes) * ((1 - at)**(of - successes)) }
  end

  def choose(all, some)
    (1..some).reduce(1) { |product, step| product * (all - some + step) / step }
  end
end
