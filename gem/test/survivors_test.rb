# frozen_string_literal: true

require "test_helper"
require "json"
require "objspace"
require "support/child"
require "support/events_reader"
require "support/survivors_reader"

module SurvivorsMapped
  private

  def mapped? = File.read("/proc/self/maps").match?(/\.(?:events|survivors)/)
end

class SurvivorsRefusedTest < Minitest::Test
  include Recording
  include SurvivorsMapped

  def test_ruby_without_known_ages_is_refused
    skip "not refused from Ruby 3.3 on" unless RUBY_VERSION < "3.3"
    record do
      request
      path = SurvivorsReader.ask(Powerband::Native.path, request: 7)
      assert_equal 200, request[0]
      assert_equal [3, 1], SurvivorsReader.new(File.binread(path)).header.values_at(:state, :refusal)
      refute mapped?
    end
  end
end

# A recording of survivors of this very process, asked for as a reader does it.
class SurvivorsTest < Minitest::Test
  include Child
  include Recording
  include SurvivorsMapped

  KEPT = [] # rubocop:disable Style/MutableConstant
  HERE = File.expand_path(__FILE__)

  def setup
    skip "refused on Ruby 3.2" if RUBY_VERSION < "3.3"
  end

  def teardown
    KEPT.clear
    GC.stress = false
  end

  def test_what_is_kept_becomes_old_and_what_is_dropped_dies_young
    seen = sampled do
      200.times { KEPT << Object.new }
      300.times { Object.new }
    end
    kept, dropped = [__LINE__ - 3, __LINE__ - 2].map { |line| site(seen, "Object", line) }
    assert_equal [200, 200, 0], kept.to_a.values_at(2, 3, 4)
    assert_equal 300, dropped.sampled
    assert_in_delta 300, dropped.died, 1, "the stack may still hold the last one"
  end

  # The very code that a fixed interval misses: every other object is kept.
  def test_what_has_a_period_is_sampled_like_the_rest
    seen = sampled(every: 2) { 10_000.times { [Object.new, KEPT << Object.new] } }
    of_line = seen.sites.select { |one| one.class_name == "Object" && one.line_in(HERE) == __LINE__ - 1 }
    assert_within_five_deviations 10_000, of_line.sum(&:promoted), 2
    assert_within_five_deviations 10_000, of_line.sum(&:died), 2
    assert_equal 0, seen[:lost]
  end

  WORKLOADS = {
    documents: lambda do
      text = JSON.generate(Array.new(20) { |i| { "name" => "product #{i}", "tags" => %w[a b], "price" => i * 0.5 } })
      700.times { |i| collected(i, 10) { i.even? ? KEPT << JSON.parse(text) : JSON.parse(text) } }
    end,
    graph: lambda do
      node = Struct.new(:left, :right, :label)
      grow = ->(depth) { node.new(*(depth.zero? ? [nil, nil] : [grow.call(depth - 1), grow.call(depth - 1)]), "node #{depth}") }
      40.times { |i| collected(i, 1) { i.even? ? KEPT << grow.call(9) : grow.call(9) } }
    end,
    cache: lambda do
      cache = {}
      KEPT << cache
      40_000.times { |i| collected(i, 1000) { cache["key #{i}"] ||= [i, "value #{i}".upcase] if i % 3 != 0 } }
    end
  }.freeze

  # Full tracing of the same objects at the same time: the same sites have as many survivors, those with at least 1 % of them
  # within 10 %. The number of sampled ones is binomial, so that 5 deviations, which 1 in 1,700,000 exceeds, are within 10 %.
  # Collections only where the workload asks for one, because full tracing allocates in its hook, where ours sees none.
  WORKLOADS.each do |name, work|
    define_method :"test_survivors_of_#{name}_are_those_of_full_tracing" do
      GC.start
      GC.disable
      ObjectSpace.trace_object_allocations_start
      since = GC.count
      till = nil
      seen = sampled(every: 2, before_the_end: -> { till = GC.count }) { instance_exec(&work) }
      GC.enable
      truth = old_by_line(since...till)
      assert_equal 0, seen[:lost]
      found = seen.sites.group_by { |one| [one.class_name, one.made_at] }
      large = truth.select { |_, count| count >= 0.01 * truth.values.sum }
      assert_operator large.length, :>=, 2
      large.each do |place, count|
        assert_operator 5 * deviation(count, 2), :<=, 0.1 * count, "#{place}: too few to tell"
        assert_in_delta count, 2 * found.fetch(place).sum(&:promoted), 0.1 * count, place.inspect
      end
    ensure
      GC.enable
      ObjectSpace.trace_object_allocations_stop
      ObjectSpace.trace_object_allocations_clear
    end
  end

  def test_addresses_that_change_are_followed
    skip "no compaction here" unless GC.respond_to?(:auto_compact=)
    before = GC.auto_compact
    seen = sampled do
      1000.times { |i| i.even? ? KEPT << Object.new : Object.new }
      GC.auto_compact = true
      2.times { GC.compact }
    end
    of_line = seen.sites.select { |one| one.class_name == "Object" && one.line_in(HERE) == __LINE__ - 4 }
    assert_equal 500, of_line.sum(&:promoted)
    assert_in_delta 500, of_line.sum(&:died), 1
  ensure
    GC.auto_compact = before unless before.nil?
  end

  def test_a_collection_at_each_object
    seen = sampled do
      GC.stress = true
      20.times { KEPT << "kept".dup }
      "dropped".dup
    ensure
      GC.stress = false
    end
    assert_equal [20, 20], site(seen, "String", __LINE__ - 5).to_a.values_at(2, 3)
  end

  # Minor and major ones, with incremental marking and lazy sweeping.
  def test_collections_as_ruby_starts_them_are_each_seen_once
    GC.start
    before = GC.stat
    after = nil
    seen = sampled(every: 500, before_the_end: -> { after = GC.stat }) do
      KEPT << Array.new(1000) { |i| "kept #{i}" } until GC.stat(:major_gc_count) > before[:major_gc_count] + 1
    end
    assert_operator after[:minor_gc_count], :>, before[:minor_gc_count]
    assert_equal [after[:count] - before[:count], 0], [seen[:collections], seen[:lost]]
  end

  # Full tracing allocates in its hook, where Ruby calls no other hook. Newer Rubies put a collection off until the hook ends.
  def test_objects_of_before_an_unseen_collection_are_lost
    GC.start
    unseen = -GC.count
    seen = sampled(before_the_end: -> { unseen += GC.count }) do
      # A collection that is seen in between would give these objects their age.
      GC.disable
      100.times { KEPT << Object.new }
      ObjectSpace.trace_object_allocations do
        GC.stress = true
        GC.enable
        5.times { Object.new }
      ensure
        GC.stress = false
        GC.enable
      end
    end
    unseen -= seen[:collections]
    skip "no collection inside a hook" if unseen.zero? && RUBY_VERSION >= "4.0"
    assert_operator unseen, :>, 0
    assert_operator seen[:lost], :>=, 100
    assert_equal [0, 0, 0], site(seen, "Object", __LINE__ - 14).to_a.values_at(2, 3, 4)
    assert_equal seen[:sampled] - seen[:internal] - seen[:lost], seen.sites.sum(&:sampled)
  end

  def test_ractors_are_refused
    alone do
      Ractor.new { Ractor.receive }
      path = SurvivorsReader.ask(flight_path, request: 7)
      request
      assert_equal [3, 3], SurvivorsReader.new(File.binread(path)).header.values_at(:state, :refusal)
    end
  end

  { ractor: Ractor, ractor_of_a_subclass: Class.new(Class.new(Ractor) { include Comparable }) }.each do |name, type|
    define_method :"test_a_#{name}_that_comes_meanwhile_ends_it" do
      alone do
        path = SurvivorsReader.ask(flight_path, request: 7)
        request
        Array.new(1000) { Object.new }
        type.new { 100_000.times { Object.new } }.then { |one| one.respond_to?(:value) ? one.value : one.take }
        GC.start
        request
        assert_equal [3, 3], SurvivorsReader.new(File.binread(path)).header.values_at(:state, :refusal)
        refute mapped?
      end
    end
  end

  def test_a_child_of_a_recording_drops_it_and_records_its_own
    sampled do
      in_child do
        Array.new(1000) { Object.new }
        refute mapped?
        seen = sampled { 10.times { KEPT << Object.new } }
        assert_equal [10, 10], site(seen, "Object", __LINE__ - 1).to_a.values_at(2, 3)
        refute mapped?
      end
    end
  end

  def test_sampling_ends_at_its_deadline
    record do
      request
      path = SurvivorsReader.ask(flight_path, request: 7, seconds: 0.3, follow: 60)
      request
      deadline = SurvivorsReader.new(File.binread(path))[:deadline_mono_ns]
      Object.new until Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) > deadline
      late = Array.new(100) { Object.new }
      5.times { GC.start }
      request
      seen = SurvivorsReader.new(File.binread(path))
      assert_equal 2, seen[:state]
      assert_nil(seen.sites.find { |one| one.line_in(HERE) == __LINE__ - 5 })
      assert_operator seen[:allocated], :>=, seen[:sampled]
      refute mapped?
      assert_equal 100, late.length
    end
  end

  def test_a_file_that_is_not_as_it_should_be_is_a_fault_and_the_request_is_served
    spoilt = [{ pid: 1 }, { start_ticks: 1 }, { mode: 0o644 }, { capacity: 1 << 40 }, { capacity: 1 }, { every: 0 },
              { header_size: 1 }, { state: 1 }, { version: 2 }, { last_mono_ns: 0 }, { frames: 1 }, { sites: 1 }, { used: 1 }]
    record do
      request
      spoilt.each_with_index do |how, n|
        SurvivorsReader.ask(flight_path, request: 50 + n, bytes: 4096, **how)
        assert_equal 200, request[0]
        assert_equal n + 1, FlightReader.new(File.binread(flight_path))[:faults], how
        refute mapped?
        EventsReader.word(flight_path, 0)
        request
      end
    end
  end

  def test_a_file_too_small_for_all_sites_counts_what_it_lost
    seen = sampled(bytes: 2000) { 100.times { |i| KEPT << "#{i}" << [i] } } # rubocop:disable Style/RedundantInterpolation
    assert_operator seen[:lost], :>, 0
    assert_operator seen[:used], :<=, 2000
    assert_equal seen[:sampled] - seen[:internal] - seen[:lost], seen.sites.sum(&:sampled)
  end

  def test_a_trace_and_a_recording_of_survivors_take_turns
    record do
      request
      2.times do |n|
        survivors = SurvivorsReader.ask(flight_path, request: 10 + n)
        request
        events = EventsReader.ask(flight_path, request: 20 + n)
        2.times { request }
        EventsReader.word(flight_path, 0)
        request
        assert_equal 2, SurvivorsReader.new(File.binread(survivors))[:state]
        assert_equal [20 + n, 2], EventsReader.new(File.binread(events)).header.values_at(:request, :state)
      end
      assert_equal 0, FlightReader.new(File.binread(flight_path))[:faults]
      refute mapped?
    end
  end

  private

  def flight_path = Powerband::Native.path

  # Of all objects that are made in the block: each one is taken, and followed until it is decided.
  def sampled(before_the_end: -> {}, **options)
    record do
      request
      path = SurvivorsReader.ask(flight_path, request: 7, **options)
      request
      yield
      5.times { GC.start }
      before_the_end.call
      EventsReader.word(flight_path, 0)
      request
      return SurvivorsReader.new(File.binread(path))
    end
  end

  # Ractors stay for as long as their process.
  def alone(&block)
    in_child do
      record do
        request
        instance_exec(&block)
      end
    end
  end

  # Now and then a collection, so that what is decided makes room for others.
  def collected(index, each)
    yield
    GC.start(full_mark: false) if (index % each).zero?
  end

  def old_by_line(generations)
    ObjectSpace.each_object.with_object(Hash.new(0)) do |object, counts|
      generation = ObjectSpace.allocation_generation(object)
      next unless generation && generations.cover?(generation) && ObjectSpace.dump(object).include?('"old":true')

      line = "#{ObjectSpace.allocation_sourcefile(object)}:#{ObjectSpace.allocation_sourceline(object)}"
      counts[[Kernel.instance_method(:class).bind_call(object).name || "(anonymous)", line]] += 1
    end
  end

  def site(seen, class_name, line)
    found = seen.sites.find { |one| one.class_name == class_name && one.line_in(HERE) == line }
    found || flunk("no #{class_name} of line #{line}")
  end

  # Of a number that is estimated by those of which each is taken with probability 1 / every.
  def deviation(count, every) = Math.sqrt(count * (every - 1))

  def assert_within_five_deviations(count, sampled, every)
    assert_in_delta count, sampled * every, 5 * deviation(count, every)
  end
end
