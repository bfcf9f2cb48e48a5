# frozen_string_literal: true

require "test_helper"

# The log of collections, compared with what Ruby counts itself.
class CollectionsTest < Minitest::Test
  include Recording

  RESPONSE = [200, {}, []].freeze
  MINOR = 1
  MAJOR = 2
  CAUSES = { newobj: 1, malloc: 2, method: 3, capi: 4, stress: 5 }.freeze
  FORCE = 5
  OVER = 2
  IN_REQUEST = 4
  UNKNOWN = 0xFFFFFFFFFFFFFFFF

  def setup
    @ballast = Array.new(200_000) { Object.new } # so that a collection takes a while
    GC.start
  end

  # Kinds and pauses of what Ruby counted while the block ran; without another collection in between.
  def counted
    GC.disable
    before = GC.stat
    GC.enable
    yield
    GC.disable
    after = GC.stat
    %i[count minor_gc_count major_gc_count].map { |key| after[key] - before[key] }
  ensure
    GC.enable
  end

  def recorded(&)
    counts = nil
    flight = record { counts = counted(&) }
    [flight, flight.collections, counts]
  end

  def test_each_collection_is_there_with_its_kind_and_its_cause
    flight, collections, counts = recorded do
      3.times { GC.start }
      2.times { GC.start(full_mark: false) }
      800_000.times { Object.new }
    end

    assert_equal counts, [collections.size, *[MINOR, MAJOR].map { |kind| collections.count { |c| c[:kind] == kind } }]
    forced = collections.select { |c| c[:cause] == CAUSES[:method] }
    assert_equal [MAJOR] * 3 + [MINOR] * 2, forced.map { |c| c[:kind] }
    assert_equal [FORCE] * 3 + [0] * 2, forced.map { |c| c[:major_by] }
    assert_operator collections.count { |c| c[:cause] == CAUSES[:newobj] }, :>=, 1
    numbers = collections.map { |c| c[:number] }
    assert_equal numbers, (numbers.first..numbers.last).to_a
    # Pauses in which Ruby only looked whether a collection goes on are of none.
    assert_operator flight[:gc_runs], :>=, collections.sum { |c| c[:pauses] }
    assert_operator collections.sum { |c| c[:pause_ns] }, :<=, flight[:gc_pause_ns]
    assert_operator collections.sum { |c| c[:pause_ns] }, :>, flight[:gc_pause_ns] / 2
  end

  def test_the_times_of_a_collection_agree_with_each_other
    _, collections, = recorded { 600_000.times { Object.new } }

    refute_empty collections
    collections.each do |c|
      assert_operator c[:pause_ns], :<=, c[:end_mono_ns] - c[:start_mono_ns]
      assert_operator c[:longest_ns], :<=, c[:pause_ns]
      assert_operator c[:sweeping_ns], :<=, c[:pause_ns]
      assert_operator c[:longest_ns] * c[:pauses], :>=, c[:pause_ns]
      assert_operator c[:cpu_ns], :<=, c[:pause_ns]
    end
    collections.each_cons(2) { |a, b| assert_operator a[:end_mono_ns], :<=, b[:start_mono_ns] }
  end

  def test_what_a_collection_frees_and_promotes_is_counted
    kept = nil
    _, collections, = recorded do
      300_000.times { Object.new }
      kept = Array.new(50_000) { Object.new }
      4.times { GC.start(full_mark: false) }
      GC.start
    end

    assert_equal 50_000, kept.size
    last = collections.last
    assert_equal OVER, last[:flags] & OVER
    assert_equal last[:live_before] - last[:live_after], last[:freed]
    assert_operator collections.sum { |c| c[:freed] }, :>=, 300_000
    minor = collections.select { |c| c[:kind] == MINOR }
    assert_operator minor.sum { |c| c[:old_after] - c[:old_before] }, :>=, 50_000
    assert_in_delta GC.stat(:heap_allocated_pages), last[:pages_after], 20
    assert_operator last[:malloc_increase], :<, UNKNOWN
  end

  def test_malloc_is_a_cause_too
    _, collections, = recorded do
      garbage = nil
      200.times { garbage = "x" * 1_000_000 }
      assert_equal 1_000_000, garbage.size
    end

    malloc = collections.select { |c| c[:cause] == CAUSES[:malloc] }
    refute_empty malloc
    assert_operator malloc.map { |c| c[:malloc_increase] }.max, :>, 1_000_000
  end

  def test_a_request_knows_what_part_of_its_stops_was_of_major_collections
    flight = record do
      request("PATH_INFO" => "/major") { |_| GC.start && RESPONSE }
      request("PATH_INFO" => "/minor") { |_| GC.start(full_mark: false) && RESPONSE }
    end
    major, minor = flight.records
    first, second = flight.collections.select { |c| c[:flags] & IN_REQUEST == IN_REQUEST }

    assert_equal [MAJOR, MINOR], [first[:kind], second[:kind]]
    assert_equal [major[:thread_id]] * 2, [first[:thread_id], second[:thread_id]]
    assert_in_delta first[:pause_ns] / 1000, major[:gc_major_us], 1
    assert_operator minor[:gc_ns], :>, 0
    assert_equal 0, minor[:gc_major_us]
  end

  # It gets its turn between two collections of the other.
  def test_a_neighbours_major_collections_are_charged_to_a_request_that_is_ready
    flight = record do
      done = false
      neighbour = Thread.new { GC.start until done }
      request { 10.times { Thread.pass } && RESPONSE }
      done = true
      neighbour.join
    end
    record = flight.records.first

    assert_operator record[:gc_major_us], :>, 0
    assert_operator record[:gc_major_us], :<=, (record[:gc_ns] / 1000) + 1
    assert_operator record[:gc_major_us], :>, record[:gvl_wait_ns] / 2000, "the neighbour does nothing but collect"
  end

  def test_the_ring_turns
    @ballast = nil
    GC.start
    flight = record { 2_100.times { GC.start(full_mark: false) } }
    collections = flight.collections

    assert_equal 2_048, collections.size
    assert_operator collections.last[:sequence], :>=, 2_100
    assert_equal collections.map { |c| c[:sequence] }, (collections.first[:sequence]..collections.last[:sequence]).to_a
  end

  # What was before it is not known, and what happened since is.
  def test_a_collection_that_began_before_the_file_did
    record { GC.start(immediate_sweep: false) }
    first = record { 100_000.times { Object.new } }.collections.first

    skip "Ruby had swept all before the file was there" unless (first[:flags] & 1).zero?
    assert_equal [UNKNOWN] * 3, first.values_at(:live_before, :old_before, :freed)
    assert_operator first[:live_after], :<, UNKNOWN
    assert_operator first[:pauses], :>=, 1
  end
end
