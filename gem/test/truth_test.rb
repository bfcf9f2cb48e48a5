# frozen_string_literal: true

require "test_helper"

# Requests whose split is known beforehand. Only ratios are asserted, with room for a noisy machine.
class TruthTest < Minitest::Test
  include Recording

  def spin(seconds)
    ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < ends
    [200, {}, []]
  end

  def allocate(count)
    count.times { Object.new }
    [200, {}, []]
  end

  def share(record, field)
    record[field].fdiv(record[:wall_ns])
  end

  def together(*works)
    gate = Queue.new
    threads = works.each_with_index.map do |work, i|
      Thread.new { gate.pop && request("PATH_INFO" => "/#{i}x") { work.call } }
    end
    works.size.times { gate << true }
    threads.each(&:join)
  end

  def test_sleep_is_io
    record = record { request { sleep(0.2) && [200, {}, []] } }.records.first

    assert_operator share(record, :io_ns), :>, 0.95
    assert_operator share(record, :cpu_ns), :<, 0.1
    assert_operator record[:yields], :>=, 1
  end

  def test_spinning_alone_is_held_and_on_the_cpu
    record = record { request { spin(0.2) } }.records.first

    assert_operator share(record, :held_ns), :>, 0.9
    assert_operator record[:cpu_ns], :>=, 200_000_000
    assert_operator record[:cpu_ns], :<=, record[:wall_ns]
  end

  def test_two_that_spin_wait_for_each_other_and_do_no_io
    flight = record { together(-> { spin(0.5) }, -> { spin(0.5) }) }

    flight.records.each do |r|
      assert_operator share(r, :io_ns), :<, 0.05
      assert_operator share(r, :gvl_wait_ns), :>, 0.2
    end
    held, waited = %i[held_ns gvl_wait_ns].map { |field| flight.totals[field] }
    assert_in_delta 1.0, waited.fdiv(held), 0.35, "each waits about as long as the other holds"
  end

  def test_allocations_are_exact_and_a_neighbours_are_not_charged
    flight = record do
      together(-> { allocate(300_000) }, -> { allocate(200_000) }, -> { 20.times { sleep(0.005) } && [200, {}, []] })
    end
    counts = flight.records.to_h { |r| [flight.endpoint_of(r), r[:allocations]] }

    assert_in_delta 300_000, counts["GET /0x"], 20
    assert_in_delta 200_000, counts["GET /1x"], 20
    assert_operator counts["GET /2x"], :<, 100
  end

  def test_gc_stress_changes_no_count
    flight = record do
      request do
        GC.stress = true
        allocate(50)
      ensure
        GC.stress = false
      end
    end

    assert_in_delta 50, flight.records.first[:allocations], 10
  end

  def test_waiting_on_a_pipe_is_io
    record = record do
      request do
        reader, writer = IO.pipe
        pid = spawn("sleep 0.4", out: writer, err: writer)
        writer.close
        reader.read
        Process.wait(pid)
        [200, {}, []]
      end
    end.records.first

    assert_operator share(record, :io_ns), :>, 0.7
  end

  # Threads are born and die while a neighbour serves; their states come and go with them.
  def test_many_short_threads
    flight = record(ring_capacity: 1024) do
      20.times { Array.new(20) { Thread.new { request { Thread.pass && [200, {}, []] } } }.each(&:join) }
    end

    assert_equal 400, flight[:written]
    assert_equal 0, flight[:in_flight]
    flight.records.each { |r| assert_equal r[:wall_ns], r[:held_ns] + r[:gvl_wait_ns] + r[:io_ns] }
  end
end
