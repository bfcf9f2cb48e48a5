# frozen_string_literal: true

require "test_helper"

# The collector's pauses, and whom they are charged to.
class GCTest < Minitest::Test
  include Recording

  RESPONSE = [200, {}, []].freeze

  def setup
    @ballast = Array.new(300_000) { Object.new } # so that a collection takes a while
  end

  def collect(times = 3)
    times.times { GC.start }
    RESPONSE
  end

  def test_own_pauses_are_in_full_a_part_of_what_was_held
    flight = record { request { collect } }
    record = flight.records.first

    assert_operator record[:gc_ns], :>, record[:wall_ns] / 2
    assert_operator record[:gc_ns], :<=, record[:held_ns] + record[:gvl_wait_ns]
    assert_in_delta record[:gc_ns] / 1000, record[:gc_own_us], 1
    assert_operator record[:gc_cpu_us], :<=, record[:gc_own_us]
    assert_operator record[:gc_cpu_us], :>, 0
    assert_operator record[:gc_count], :>=, 3
    assert_operator flight[:gc_pause_ns], :>=, record[:gc_ns]
    assert_operator flight[:gc_runs], :>=, record[:gc_count]
    assert_operator flight[:gc_cpu_ns], :<=, flight[:gc_pause_ns]
    assert_equal record[:gc_ns], flight.totals[:gc_ns]
    assert_equal record[:gc_own_us], flight.totals[:gc_own_ns] / 1000
  end

  def test_pauses_count_for_the_process_when_no_request_is_there
    flight = record { collect(1) }

    assert_equal 0, flight[:written]
    assert_operator flight[:gc_runs], :>=, 1
    assert_operator flight[:gc_pause_ns], :>, 0
    assert_operator flight[:gc_cpu_ns], :>, 0
  end

  # The one that wants to run gets its turn between two collections of the other; it allocates nothing itself.
  def test_a_neighbours_pauses_are_charged_to_a_request_that_is_ready
    flight = record do
      begun = done = false
      neighbour = Thread.new { begun = collect(1) until done }
      Thread.pass until begun
      request { 10.times { Thread.pass } && RESPONSE }
      done = true
      neighbour.join
    end
    record = flight.records.first

    assert_operator record[:gc_ns], :>, 0
    assert_operator record[:gc_ns] - (record[:gc_own_us] * 1000), :<=, record[:gvl_wait_ns] + 1000
    assert_operator record[:gc_own_us] * 1000, :<, record[:gc_ns] / 2
    assert_operator record[:gc_count], :>, 0
    assert_operator record[:gc_ns], :>, record[:gvl_wait_ns] / 2, "the neighbour does nothing but collect"
  end

  def test_a_neighbours_pauses_are_not_charged_to_a_request_that_waits_for_something_else
    reader, writer = IO.pipe
    flight = record do
      entered = Queue.new
      thread = Thread.new { request { (entered << 1) && reader.readpartial(1) && RESPONSE } }
      entered.pop
      Thread.pass until thread.stop?
      collect(5)
      GC.disable
      writer << "x"
      thread.join
    ensure
      GC.enable
    end

    assert_operator flight[:gc_pause_ns], :>, 0
    assert_equal [0, 0, 0], flight.records.first.values_at(:gc_ns, :gc_own_us, :gc_count)
  end

  def test_stress_and_compaction_change_nothing
    @ballast = nil
    flight = record(ring_capacity: 1024) do
      GC.auto_compact = true
      GC.stress = true
      3.times { |n| request("PATH_INFO" => "/#{n}x") { [200, {}, [Object.new]] } }
    ensure
      GC.stress = false
      GC.auto_compact = false
    end

    assert_equal 3, flight[:written]
    flight.records.each do |r|
      assert_equal r[:wall_ns], r.values_at(:held_ns, :gvl_wait_ns, :lock_wait_ns, :io_ns).sum
      assert_operator r[:gc_ns], :<=, r[:held_ns] + r[:gvl_wait_ns]
    end
  end
end
