# frozen_string_literal: true

require "test_helper"

# The server's own part of a request, and beginnings whose end never comes.
class ServerPartTest < Minitest::Test
  include Recording

  NATIVE = Powerband::Native
  SPANS = 16
  RESPONSE = [200, {}, []].freeze

  def spin(seconds)
    ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < ends
  end

  def serve
    NATIVE.server_start
    yield
  ensure
    NATIVE.server_finish
  end

  def test_parsing_and_writing
    records = record do
      3.times do
        serve do
          sleep(0.02)
          request { sleep(0.03) && RESPONSE }
          spin(0.05)
        end
      end
    end.records
    record = records.min_by { |r| r[:parse_us] } # with which nothing of the machine's interfered

    assert_equal [SPANS] * 3, records.map { |r| r[:flags] }
    assert_operator record[:parse_us], :>=, 20_000
    assert_operator record[:parse_us], :<, record[:write_us]
    assert_operator record[:write_us], :>=, 50_000
    assert_operator record[:server_held_us], :>=, 45_000
    assert_operator record[:server_held_us], :<=, record[:parse_us] + record[:write_us] + 1
    assert_operator record[:held_ns], :<, record[:wall_ns] / 2
    assert_operator record[:cpu_ns], :>=, 50_000_000
  end

  def test_the_end_of_one_record_is_the_beginning_of_the_threads_next
    flight = record do
      request
      spin(0.05)
      request
      request
    end
    first, second, third = flight.records

    assert_equal 0, first[:server_held_us]
    assert_operator second[:cpu_ns], :>=, 50_000_000
    assert_operator second[:server_held_us], :>=, 45_000
    assert_operator second[:held_ns], :<, 45_000_000
    assert_operator third[:cpu_ns], :<, second[:cpu_ns] / 5
    assert_operator flight.totals[:cpu_ns], :>=, 50_000_000
  end

  def test_a_server_that_waits_for_a_neighbour_waits_outside_the_application
    record = record do
      done = false
      neighbour = Thread.new { spin(0.001) until done }
      serve { request && sleep(0.001) }
      done = true
      neighbour.join
    end.records.first

    assert_operator record[:server_gvl_wait_us], :>, record[:gvl_wait_ns] / 1000
    assert_operator record[:server_gvl_wait_us], :<=, record[:write_us]
  end

  def test_the_record_waits_for_the_server_and_what_is_in_flight_does_not
    flight = record do
      serve do
        request
        live = FlightReader.new(File.binread(NATIVE.path))
        assert_equal [0, 0], live.header.values_at(:written, :in_flight)
      end
    end

    assert_equal [1, 1], [flight[:written], flight.totals[:spans_known]]
  end

  def test_of_several_requests_in_one_span_neither_parsing_nor_writing_is_known
    flight = record { serve { 3.times { request && spin(0.01) } } }

    assert_equal [[0, 0, 0]] * 3, flight.records.map { |r| r.values_at(:flags, :parse_us, :write_us) }
    assert_equal [3, 0, 0], flight.totals.values_at(:requests, :spans_known, :write_ns)
    flight.records.each { |r| assert_operator r[:server_held_us], :>=, 9000 }
  end

  def test_a_server_that_begins_again_ends_what_was_open
    flight = record do
      NATIVE.server_start
      NATIVE.start({})
      NATIVE.server_start
      request("PATH_INFO" => "/pending")
      NATIVE.server_start
      request("PATH_INFO" => "/after")
      NATIVE.server_finish
      NATIVE.server_finish
      request("PATH_INFO" => "/alone")
    end

    assert_equal [["GET /pending", 0], ["GET /after", SPANS], ["GET /alone", 0]],
                 flight.records.map { |r| [flight.endpoint_of(r), r[:flags]] }
    assert_equal 0, flight[:in_flight]
  end

  def test_a_thread_that_ends_before_the_server_has_written_leaves_its_record
    flight = record { Thread.new { NATIVE.server_start || request }.join }

    assert_equal [[1, 0]], flight.records.map { |r| r.values_at(:sequence, :flags) }
  end

  def test_a_file_that_comes_or_goes_within_a_span
    NATIVE.forget
    NATIVE.server_start
    flight = record { request && NATIVE.server_finish }
    assert_equal [0], flight.records.map { |r| r[:flags] }

    record { NATIVE.server_start || request }
    assert_equal 0, record { NATIVE.server_finish }[:written]
  end

  def test_busy_threads_are_summed
    flight = record { 3.times { request } }

    assert_equal 3, flight.totals[:busy_sum]
    assert_equal 3, flight.endpoints.last.counters[:busy_sum]
  end

  # The order of calls is whatever an exception, a fork or a badly behaved server makes of it.
  def test_any_order_from_any_thread
    seed = Random.new_seed
    flight = record(ring_capacity: 1024) do
      Array.new(4) { |n| Thread.new { stumble(Random.new(seed + n), 3000) } }.each(&:join)
      Thread.new { serve { request("PATH_INFO" => "/whole") } }.join
    end
    whole = flight.records.find { |r| flight.endpoint_of(r) == "GET /whole" }

    assert_equal [SPANS, 1, 200], whole.values_at(:flags, :busy_threads, :status), "seed #{seed}"
    assert_equal [0, 0], flight.header.values_at(:in_flight, :faults), "seed #{seed}"
    assert_equal flight[:written], flight.totals[:requests]
    flight.records.each { |r| assert_equal r[:wall_ns], r.values_at(:held_ns, :gvl_wait_ns, :lock_wait_ns, :io_ns).sum }
  end

  def stumble(random, steps)
    answers = [true, false, nil]
    steps.times do
      kind = random.rand(6)
      case random.rand(10)
      when 0 then NATIVE.server_start
      when 1 then NATIVE.server_finish
      when 2, 3 then answers[kind % 3] = NATIVE.start([{}, nil, environment][kind % 3])
      when 4 then NATIVE.finish(answers.sample(random:), {}, RESPONSE, kind.zero?)
      when 5 then NATIVE.job_finish(answers.sample(random:), "Job", nil)
      when 6 then NATIVE.job_start(kind)
      when 7 then NATIVE.call_start(kind)
      when 8 then NATIVE.call_finish(true, kind)
      else Thread.pass
      end
    end
  end
end
