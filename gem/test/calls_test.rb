# frozen_string_literal: true

require "test_helper"
require "open3"
require "support/neighbour"

# Calls, jobs and samples of pools, as they are passed to the extension.
class CallsTest < Minitest::Test
  include Recording
  include Neighbour

  NATIVE = Powerband::Native
  CALLS = Powerband::CALLS
  RESPONSE = [200, {}, []].freeze

  def call(name)
    started = NATIVE.call_start(CALLS.fetch(name))
    yield
  ensure
    NATIVE.call_finish(started, CALLS.fetch(name))
  end

  # Each wait of five milliseconds ends in a wait for the GVL, which the neighbour gives up a tenth of a second later.
  # A busy machine wakes some of them late: the median of seven counts.
  def test_a_query_is_told_from_the_neighbour_that_it_waited_for
    flight = record { beside_a_spinning_thread { 7.times { request { call(:sql) { sleep(0.005) } && RESPONSE } } } }
    records = flight.records
    really = records.map { |r| r[:sql_us] - r[:sql_gvl_us] }

    assert_equal [1] * 7, records.map { |r| r[:sql_count] }
    assert_operator really.min, :>=, 5000
    assert_operator really.sort[3], :<, records.map { |r| r[:sql_us] }.sort[3] / 2
    records.each { |r| assert_operator r[:sql_gvl_us] * 1000, :<=, r[:gvl_wait_ns] }
    assert_equal [7, 0], flight.totals.values_at(:sql_count, :http_count)
    assert_in_delta records.sum { |r| r[:sql_us] }, flight.totals[:sql_ns] / 1000, 7
  end

  def test_a_call_inside_one_of_its_kind_counts_once_and_inside_another_in_both
    record = record do
      request do
        call(:cache) { call(:cache) { call(:redis) { sleep(0.01) } } }
        RESPONSE
      end
    end.records.first

    assert_equal [1, 1, 0, 0, 0], record.values_at(:cache_count, :redis_count, :sql_count, :http_count, :pool_count)
    assert_operator record[:cache_us], :>=, record[:redis_us]
    assert_operator record[:cache_us] * 1000, :<=, record[:wall_ns]
    assert_operator record[:redis_us], :>=, 10_000
  end

  def test_a_checkout_counts_when_it_waited_for_a_lock_and_that_alone
    record = record do
      request do
        call(:pool) { sleep(0.05) }
        call(:pool) { Queue.new.pop(timeout: 0.05) }
        RESPONSE
      end
    end.records.first

    assert_equal 1, record[:pool_count]
    assert_in_delta record[:lock_wait_ns] / 1000, record[:pool_us] - record[:pool_gvl_us], 1
    assert_operator record[:io_ns], :>=, 50_000_000
  end

  def test_what_was_never_finished_ends_with_its_request
    flight = record do
      request { NATIVE.call_start(0) && RESPONSE }
      request { call(:sql) { nil } && RESPONSE }
      NATIVE.call_finish(true, 0)
      refute NATIVE.call_start(0), "outside a request"
      request { NATIVE.call_finish(true, 0) || RESPONSE }
    end

    assert_equal [0, 1, 0], flight.records.map { |r| r[:sql_count] }
  end

  def test_what_is_no_kind_is_no_call
    record do
      request do
        [-1, 5, 2**70, nil, "sql", 1.0].each do |kind|
          refute NATIVE.call_start(kind) || NATIVE.call_finish(true, kind) || NATIVE.measures(kind)
        end
        RESPONSE
      end
    end
  end

  def test_fields_become_measured_while_the_file_is_live_and_stay_so_for_later_ones
    program = <<~RUBY
      $LOAD_PATH.unshift("#{GEM_ROOT}/test", "#{GEM_ROOT}/lib")
      require "test_helper"
      include Recording
      measured = ->(flight) { flight.fields.select { |f| f.flags == 1 }.map(&:name).grep(/sql|http|pool/).join(" ") }
      puts measured.(record { request })
      puts measured.(record { request && Powerband::Native.measures(0) })
      puts measured.(record { Powerband::Native.measures(4) })
      $stdout.flush
      exit!
    RUBY
    out, = Open3.capture2e(RbConfig.ruby, "-e", program)

    assert_equal ["", "sql_us sql_gvl_us sql_count", "sql_us sql_gvl_us sql_count pool_us pool_gvl_us pool_count"],
                 out.lines.map(&:chomp)
  end

  def test_jobs
    flight = record do
      run_job("HardWorker", 5_000_000)
      run_job("HardWorker", nil, raised: true)
      run_job(:symbol, -1)
      request { run_job("inside a request", 1) && RESPONSE }
    end

    assert_equal [[5, 5_000_000, 0], [6, 0, 0], [4, 0, 0], [0, 0, 200]],
                 flight.records.map { |r| r.values_at(:flags, :queue_ns, :status) }
    assert_equal ["job HardWorker", "job HardWorker", "job (unnamed)", "GET /"], flight.records.map { |r| flight.endpoint_of(r) }
    assert_equal 1, flight.totals[:server_errors]
    assert_equal 1, flight.endpoints.find { |e| e.name == "job HardWorker" }.queue_histogram.values.sum
  end

  def run_job(name, queue_ns, raised: false)
    started = NATIVE.job_start(queue_ns)
    NATIVE.job_finish(started, name, raised)
    true
  end

  def test_nothing_is_recorded_without_a_file
    NATIVE.forget

    assert_equal [nil, nil, false, false], [NATIVE.start({}), NATIVE.job_start(1), NATIVE.call_start(0), NATIVE.pool_due?]
    assert_nil NATIVE.server_start || NATIVE.server_finish || NATIVE.pool_sample(0, 1, 1, 1, 0, 0, 0)
  end

  def test_pools_are_due_once_a_second_and_file
    2.times do
      record do
        assert_equal [true, false, false], Array.new(3) { NATIVE.pool_due? }
        assert_operator Array.new(8) { Thread.new { NATIVE.pool_due? } }.count(&:value), :<=, 1
      end
    end
  end

  def test_samples_of_pools_go_around_in_their_ring
    flight = record { 1030.times { |n| NATIVE.pool_sample(n % 2, 5, 4, 3, nil, -1, 70_000) } }
    samples = flight.pool_samples

    assert_equal 1030, flight[:pool_written]
    assert_equal (7..1030).to_a, samples.map { |s| s[:sequence] }
    assert_equal [5, 4, 3, 0, 0, 65_535, 1], samples.last.values_at(:size, :connections, :busy, :dead, :idle, :waiting, :pool)
    assert_equal samples.map { |s| s[:mono_ns] }.sort, samples.map { |s| s[:mono_ns] }
  end
end
