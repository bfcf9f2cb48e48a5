# frozen_string_literal: true

require "test_helper"

class QueueTimeTest < Minitest::Test
  include Recording

  def parse(text)
    Powerband::Native.request_start_ns(text)
  end

  def test_units_are_told_apart_by_magnitude
    ns = 1_700_000_000_123_456_789
    {
      "1700000000" => 1_700_000_000_000_000_000, "t=1700000000.123" => 1_700_000_000_123_000_000,
      "1700000000.123456789123" => ns, "1700000000123" => 1_700_000_000_123_000_000,
      "t=1700000000123.456" => 1_700_000_000_123_456_000, "t=1700000000123456" => 1_700_000_000_123_456_000,
      "1700000000123456789" => ns, " t=1700000000123456789, t=1800000000" => ns
    }.each { |text, expected| assert_equal expected, parse(text), text }
  end

  def test_what_is_not_a_time_is_unknown
    ["", "t=", "yes", "-1700000000", "12", "999999999", "1700000000x", "17000000001234567890", "0x65f",
     "t=t=1700000000", "1700000000\u0660"].each { |text| assert_nil parse(text), text.inspect }
  end

  def test_the_last_second_whose_nanoseconds_fit
    { "" => 1_000_000_000, "000" => 1_000_000, "000000" => 1_000 }.each do |zeros, factor|
      last = "18446744072#{zeros}"
      assert_equal Integer(last) * factor, parse(last), last
      assert_nil parse("18446744073#{zeros}"), zeros
      assert_nil parse("18446744073#{zeros}.709551616"), zeros
    end
    assert_equal 18_446_744_072_999_999_999, parse("18446744072.999999999")
    assert_equal 9_999_999_999_999_999_999, parse("9999999999999999999")
  end

  # By itself a minute: a client that sets the header adds no more.
  def test_more_than_the_limit_is_unknown
    now = Time.now.to_i
    flight = record do
      [50, 70, 3_500].each { |age| request("HTTP_X_REQUEST_START" => "t=#{now - age}") }
    end

    assert_equal [1, 0, 0], flight.records.map { |r| r[:flags] }
    assert_equal [2, 1], [flight[:clock_skew], flight.totals[:queue_known]]
    assert_operator flight.totals[:queue_ns], :<, 60_000_000_000
  end

  def test_the_limit_can_be_set_to_an_hour
    now = Time.now.to_i
    flight = record(queue_limit_ns: 3_600_000_000_000) do
      [now - 3500, now - 3700, now + 3500, now + 3700, now - 86_400, 1_000_000_000, "18446744072.999999999"].each do |sent|
        request("HTTP_X_REQUEST_START" => "t=#{sent}")
        request("HTTP_X_REQUEST_START" => "t=#{sent}", "puma.request_body_wait" => 999_999_999.0)
      end
      request("HTTP_X_REQUEST_START" => "t=#{now - 3700}", "puma.request_body_wait" => 200_000)
    end

    assert_equal [[1, 1], [0, 1], [1, 1], [0, 0], [0, 1], [0, 0], [0, 0], [1]],
                 flight.records.map { |r| r[:flags] }.each_slice(2).to_a
    assert_equal 13, flight[:clock_skew]
    assert(flight.records.all? { |r| r[:queue_ns] <= 3_600_000_000_000 })
    assert_equal 7, flight.totals[:queue_known]
  end

  def test_the_time_that_puma_waited_for_the_body_is_not_queueing
    sent = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) - 5_000
    flight = record do
      request("HTTP_X_REQUEST_START" => "t=#{sent}")
      request("HTTP_X_REQUEST_START" => "t=#{sent}", "puma.request_body_wait" => 4_000.5)
      request("HTTP_X_REQUEST_START" => "t=#{sent}", "puma.request_body_wait" => 4_000)
    end
    first, *others = flight.records

    assert_operator first[:queue_ns], :>=, 4_999_000_000
    others.each do |r|
      later_ns = r[:start_mono_ns] - first[:start_mono_ns]
      assert_in_delta first[:queue_ns] + later_ns - 4_000_000_000, r[:queue_ns], 900_000_000
    end
    assert_equal [1], flight.records.map { |r| r[:flags] }.uniq
    assert_equal 3, flight.totals[:queue_known]
  end

  def test_a_clock_ahead_of_ours_is_counted_and_taken_as_zero
    flight = record do
      request("HTTP_X_REQUEST_START" => "t=#{Time.now.to_i + 30}")
      request
    end

    assert_equal [[0, 1], [0, 0]], flight.records.map { |r| r.values_at(:queue_ns, :flags) }
    assert_equal 1, flight[:clock_skew]
  end

  def test_odd_body_waits_change_nothing
    [Float::NAN, -5, Float::INFINITY, "1", nil].each do |wait|
      flight = record do
        request("HTTP_X_REQUEST_START" => (Time.now.to_f - 2).to_s, "puma.request_body_wait" => wait)
      end
      assert_operator flight.records.first[:queue_ns], :>, 1_000_000_000, wait.inspect
    end
  end
end
