# frozen_string_literal: true

require "test_helper"
require "support/events_reader"

# POWERBAND_BURSTS: the course of one in so many requests.
class BurstsTest < Minitest::Test
  include Recording

  def sampled(one_in)
    events = nil
    flight = record(bursts: one_in, ring_capacity: 128) do
      yield
      events = EventsReader.new(File.binread(Powerband::Native.path.sub(".flight", ".bursts")))
    end
    [flight, events]
  end

  # The stop-watch once more, from the events alone.
  def sums(events)
    doing = :held
    since = events.first.mono_ns
    events.each_with_object(Hash.new(0)) do |event, sums|
      after = { suspended: event.detail == 1 ? :lock : :io, ready: :wait, resumed: :held }[event.kind] || doing
      after = doing if (event.kind == :suspended && doing != :held) || (event.kind == :ready && %i[held wait].include?(doing))
      sums[doing] += event.mono_ns - since
      since = event.mono_ns
      doing = after
    end
  end

  def courses(events)
    events.events.group_by(&:thread).values.flat_map do |of_one|
      of_one.slice_before { |event| event.kind == :request_begin }.map do |course|
        course.take(course.index { |event| event.kind == :request_end } + 1)
      end
    end
  end

  def test_the_intervals_add_up_to_the_records_to_the_nanosecond
    mutex = Mutex.new
    flight, events = sampled(1) do
      Array.new(4) do |n|
        Thread.new do
          10.times do
            request { n.even? ? sleep(0.0005) : 20_000.times.sum }
            request { mutex.synchronize { sleep 0.0002 } }
          end
        end
      end.each(&:join)
    end

    assert_equal 80, flight.records.size
    assert(flight.records.all? { |r| (r[:flags] & 8) == 8 })
    by_start = courses(events).to_h { |course| [course.first.mono_ns, course] }
    flight.records.each do |r|
      of = sums(by_start.fetch(r[:start_mono_ns]))
      assert_equal r.values_at(:held_ns, :gvl_wait_ns, :lock_wait_ns, :io_ns), of.values_at(:held, :wait, :lock, :io)
    end
  end

  # Each spins until both have begun, so that the GVL is taken from at least one of them.
  def test_each_time_the_gvl_is_given_up_or_taken_it_is_said_once
    begun = Queue.new
    flight, events = sampled(1) do
      Array.new(2) do
        Thread.new do
          request { (begun << 1) && (nil until begun.size == 2) }
          5.times { request { sleep(0.001) } }
        end
      end.each(&:join)
    end

    turns = courses(events).to_h do |course|
      [course.first.mono_ns, course.map(&:kind).select { |kind| %i[suspended ready resumed].include?(kind) }]
    end
    assert_equal 12, flight.records.size
    flight.records.each do |r|
      assert_equal %i[suspended ready resumed] * r[:yields], turns.fetch(r[:start_mono_ns])
    end
    assert_operator flight.records.first(2).sum { |r| r[:yields] }, :>=, 1
  end

  def test_one_in_so_many_by_chance
    flight, events = sampled(10) { 2000.times { request } }
    marked = flight.totals[:requests]
    assert_equal 2000, marked
    begun = events.kinds.count(:request_begin)
    # Of 2000 at 0.1: mean 200, deviation 13.4; eight of them is never.
    assert_in_delta 200, begun, 110
    assert_equal begun, events.kinds.count(:request_end)
    starts = events.events.select { |event| event.kind == :request_begin }.map(&:mono_ns)
    all = flight.records.to_h { |r| [r[:start_mono_ns], r] }
    recent = starts.select { |start| all.key?(start) }
    assert(recent.all? { |start| all[start][:flags] & 8 == 8 })
  end

  def test_none_unless_asked_for
    record do
      request
      refute_path_exists Powerband::Native.path.sub(".flight", ".bursts")
    end
  end

  def test_the_file_is_private_and_says_what_it_is
    flight, events = sampled(3) { request }
    assert_equal [2, 1, 3], events.header.values_at(:mode, :state, :one_in)
    assert_equal flight[:start_ticks], events[:start_ticks]
  end

  def test_a_child_of_a_sampled_request_has_not_inherited_that
    Dir.mktmpdir do |root|
      child = nil
      sampled(1) { request { (child = fork { exit!(unsampled(root)) }) && [200, {}, []] } }
      assert_predicate Process.wait2(child).last, :success?
    end
  end

  def test_the_newest_stay
    flight, events = sampled(1) { 33_000.times { request } }
    assert_equal 33_000, flight[:written]
    assert_equal 65_536, events.events.size
    assert_empty events.torn
    assert_equal flight.records.last[:start_mono_ns], courses(events).last.first.mono_ns
  end

  private

  # Whether a process whose own requests are as good as never sampled records no event of this thread.
  def unsampled(root)
    Powerband::Native.open(OPTIONS.merge(root:, bursts: 1 << 31))
    sleep 0.001
    EventsReader.new(File.binread(Powerband::Native.path.sub(".flight", ".bursts")))[:claimed].zero?
  end
end
