# frozen_string_literal: true

require "test_helper"

class HistogramTest < Minitest::Test
  # The contract's formula with floating point, as a check on the bit-twiddling one.
  def naive(nanoseconds)
    u = nanoseconds / 1000
    return u if u < 4

    e = Math.log2(u).floor
    [(4 * (e - 1)) + ((u >> (e - 2)) & 3), 127].min
  end

  def test_agrees_with_the_formula
    values = (0..20_000).map { |u| u * 1000 } + (2..32).flat_map { |e| [-1, 0, 1].map { |d| ((1 << e) + d) * 1000 } }
    values.each { |ns| assert_equal naive(ns), Powerband::Native.bucket(ns), "#{ns} ns" }
  end

  def test_each_bucket_is_at_most_a_quarter_wide
    firsts = (0..3_000_000).each_with_object({}) { |u, seen| seen[Powerband::Native.bucket(u * 1000)] ||= u }
    firsts.values.each_cons(2).drop(4).each { |low, high| assert_operator high, :<=, (low * 1.25) + 1 }
    assert_equal firsts.keys.sort, firsts.keys, "buckets grow with the time"
  end

  def test_the_last_bucket_is_open
    assert_equal 127, Powerband::Native.bucket((1 << 63) - 1)
  end
end
