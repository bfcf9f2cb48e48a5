# frozen_string_literal: true

require "test_helper"

# The state of Ruby's heap in the flight file.
class HeapTest < Minitest::Test
  include Recording

  def test_it_is_there_before_the_first_request_and_is_what_ruby_says
    heap = record {}.heap
    GC.start
    pages = GC.stat(:heap_allocated_pages)

    assert_equal GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE], heap[:page_bytes]
    assert_in_delta pages, heap[:pages], pages
    assert_operator heap[:pages], :>, 10
    assert_operator heap[:live_slots], :>, 1_000
    assert_operator heap[:old_objects], :>, 100
    assert_equal(GC.stat_heap.values.map { |pool| pool[:slot_size] }, heap[:pools].map { |pool| pool[:slot_bytes] })
    assert_operator heap[:pools].sum { |pool| pool[:slots] }, :>=, heap[:live_slots]
    return unless heap[:pools].first[:live_slots]

    assert_in_delta heap[:live_slots], heap[:pools].sum { |pool| pool[:live_slots] }, 1_000
  end

  def test_it_is_written_again_and_nothing_is_allocated_for_it
    kept = allocated = nil
    flight = record do
      kept = Array.new(200_000) { Object.new }
      # The first calls at a place allocate what Ruby remembers of the method.
      allocated = Array.new(3) { allocations { Powerband::Native.heap_sample } }.last
    end

    assert_equal 200_000, kept.size
    assert_equal 0, allocated
    assert_operator flight.heap[:live_slots], :>=, 200_000
  end

  # Once a second a request writes it: the first that begins is one of these.
  def test_a_request_writes_it
    kept = nil
    flight = record do
      kept = Array.new(200_000) { Object.new }
      request
    end

    assert_equal 200_000, kept.size
    assert_operator flight.heap[:live_slots], :>=, 200_000
  end

  def test_without_a_file_nothing_happens
    assert_nil Powerband::Native.heap_sample
  end

  private

  def allocations
    before = GC.stat(:total_allocated_objects)
    yield
    GC.stat(:total_allocated_objects) - before
  end
end
