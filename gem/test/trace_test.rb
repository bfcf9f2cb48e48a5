# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "support/events_reader"

# A trace of this very process, asked for as a reader does it: by a file and a word in the flight file.
class TraceTest < Minitest::Test
  include Recording

  def flight_path
    Powerband::Native.path
  end

  def traced(**options)
    path = EventsReader.ask(flight_path, request: 7, **options)
    yield
    EventsReader.word(flight_path, 0)
    request
    EventsReader.new(File.binread(path))
  end

  def faults
    FlightReader.new(File.binread(flight_path))[:faults]
  end

  def mapped?
    File.read("/proc/self/maps").include?(".events")
  end

  def test_threads_requests_and_hand_overs_are_seen
    record do
      request
      idle = Thread.new { sleep }
      idle.name = "idle"
      Thread.pass until idle.stop?
      events = traced do
        named("sleeper") { request { sleep 0.002 } }
        named("spinner") { request { [200, {}, 50_000.times.map(&:to_s)] } }
      end

      assert_equal 2, events[:state]
      assert_operator events[:began_mono_ns], :<, events[:ended_mono_ns]
      assert_empty events.torn
      assert_includes events.threads.map(&:name), "main"
      main = events.threads.find { |thread| thread.name == "main" }
      assert_equal Process.pid, main.native_id
      assert_equal [idle.native_thread_id], events.threads.select { |thread| thread.name == "idle" }.map(&:native_id)
      sleeper = events.of("sleeper").map(&:kind)
      assert_equal 1, sleeper.count(:request_begin)
      inside = sleeper[sleeper.index(:request_begin)..sleeper.index(:request_end)]
      assert_includes inside, :suspended
      assert_operator inside.index(:suspended), :<, inside.rindex(:resumed)
      assert_equal 200, events.of("spinner").find { |event| event.kind == :request_end }.code
    ensure
      idle&.kill
    end
  end

  def test_the_collector_is_seen_on_the_thread_that_ran_it
    record do
      request
      # What ran before may have left a collection half done; then the rest of that one comes first.
      GC.start(immediate_mark: false, immediate_sweep: false)
      events = traced { named("collector") { request { [200, {}, [GC.start]] } } }
      of = events.of("collector")
      assert_operator of.count { |event| event.kind == :gc_enter }, :>=, 1
      assert_equal of.count { |event| event.kind == :gc_enter }, of.count { |event| event.kind == :gc_exit }
      assert_includes of.filter_map { |event| event.detail if event.kind == :gc_enter }, 0, "a collection begins"
    end
  end

  def test_waiting_for_a_lock_is_told_from_other_waiting
    record do
      request
      queue = Queue.new
      events = traced do
        waiter = Thread.new { Thread.current.name = "waiter"; request { [200, {}, [queue.pop]] } } # rubocop:disable Style/Semicolon
        Thread.pass until waiter.status == "sleep"
        queue << "x"
        waiter.join
        named("sleeper") { request { sleep 0.001 } }
      end
      details = %w[waiter sleeper].map do |name|
        of = events.of(name)
        of[of.index { |e| e.kind == :request_begin }..of.index { |e| e.kind == :request_end }]
          .select { |e| e.kind == :suspended }.map(&:detail)
      end
      assert_includes details[0], 1
      refute_includes details[1], 1
    end
  end

  def test_one_threads_events_are_in_the_order_of_their_times
    record do
      request
      events = traced do
        Array.new(4) { |n| Thread.new { 20.times { request { n.even? ? sleep(0.0005) : 2000.times.sum } } } }.each(&:join)
      end
      events.events.group_by(&:thread).each_value do |of_one|
        assert_equal of_one.map(&:mono_ns).sort, of_one.map(&:mono_ns)
      end
      assert_operator events.events.map(&:thread).uniq.size, :>=, 5
      assert_equal [80, 80], %i[request_begin request_end].map { |kind| events.kinds.count(kind) }
    end
  end

  def test_nothing_is_recorded_unless_asked_for_and_nothing_stays_mapped
    record do
      request
      refute mapped?
      traced { assert_equal [true], [request { [200, {}, [mapped?]] }].map { |r| r[2][0] } }
      refute mapped?
    end
  end

  def test_tracing_twice
    record do
      request
      2.times do |n|
        path = EventsReader.ask(flight_path, request: 100 + n)
        3.times { request }
        EventsReader.word(flight_path, 0)
        request
        events = EventsReader.new(File.binread(path))
        assert_equal 100 + n, events[:request]
        assert_equal 3, events.kinds.count(:request_end)
      end
      assert_equal 0, faults
    end
  end

  def test_one_trace_takes_the_place_of_another
    record do
      request
      EventsReader.ask(flight_path, request: 1)
      request
      path = EventsReader.ask(flight_path, request: 2)
      request
      EventsReader.word(flight_path, 0)
      request
      assert_equal [2, 2], EventsReader.new(File.binread(path)).header.values_at(:request, :state)
      assert_equal 0, faults
    end
  end

  def test_a_full_file_counts_what_it_lost
    record do
      request
      events = traced(events: 10) { 30.times { request } }
      assert_equal 10, events.events.size
      assert_operator events[:claimed], :>=, 60
    end
  end

  def test_the_deadline_ends_it
    record do
      request
      path = EventsReader.ask(flight_path, request: 5, seconds: 0.5)
      deadline = EventsReader.new(File.binread(path))[:deadline_mono_ns]
      request until Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) > deadline
      2.times { request }
      events = EventsReader.new(File.binread(path))
      assert_equal 2, events[:state]
      assert_operator events.events.map(&:mono_ns).max, :<, deadline
      refute mapped?
    end
  end

  def test_a_file_that_is_not_as_it_should_be_is_a_fault_and_the_request_is_served
    spoilt = [{ pid: 1 }, { start_ticks: 1 }, { mode: 0o644 }, { event_capacity: 1 << 40 }, { event_offset: 64 },
              { event_size: 16 }, { thread_capacity: 1 << 20 }, { header_size: 1 }, { state: 1 }, { allocated: false }]
    record do
      request
      spoilt.each_with_index do |how, n|
        how = { version: how[:version] || 1 }.merge(how)
        EventsReader.ask(flight_path, request: 50 + n, **how)
        assert_equal 200, request[0]
        assert_equal n + 1, faults, how
        refute mapped?
        EventsReader.word(flight_path, 0)
        request
      end
    end
  end

  def test_a_word_without_a_file_and_a_link_in_its_place
    record do
      request
      EventsReader.word(flight_path, 9)
      assert_equal 200, request[0]
      assert_equal 1, faults
      path = flight_path.sub(".flight", ".events")
      EventsReader.ask(flight_path, request: 10)
      File.rename(path, "#{path}.elsewhere")
      File.symlink("#{path}.elsewhere", path)
      assert_equal 200, request[0]
      assert_equal 2, faults
    end
  end

  # Ruby's own Thread.list neither fails nor checks interrupts; one that was put in its place may.
  def test_a_list_of_threads_that_fails_is_a_fault
    record do
      request
      traced { Thread.stub(:list, -> { raise "no" }) { assert_equal 200, request[0] } }
      assert_equal 1, faults
      refute mapped?
    end
  end

  # A timeout's, of whatever class it is. The name of a thread is what Ruby is asked for.
  def test_an_exception_of_another_thread_that_comes_as_a_trace_begins_passes
    theirs = Class.new(StandardError)
    victim = Thread.current
    odd = Thread.new { sleep }
    Thread.pass until odd.stop?
    senders = [-> { Thread.new { victim.raise(theirs) }.join }]
    odd.define_singleton_method(:name) { senders.pop&.call ? "odd" : "odd again" }
    flight = record do
      request
      ended = traced { assert_raises(theirs) { request } }
      assert_equal [2, 0], [ended[:state], ended.kinds.count(:request_end)]
      assert_includes ended.threads.map(&:name), "odd again"
    end
    assert_equal [0, 0, 2], flight.header.values_at(:faults, :in_flight, :written)
  ensure
    odd&.kill
  end

  def test_what_is_meant_for_the_thread_is_not_rescued
    timeout = Class.new(Exception) # rubocop:disable Lint/InheritException
    ways = { kill: -> { Thread.current.kill }, raise: -> { Thread.current.raise(timeout) }, throw: -> { throw :over } }
    flight = record do
      request
      ways.each_value do |way|
        served = false
        ended = traced do
          Thread.new do
            Thread.stub(:list, way) { catch(:over) { request { served = [200, {}, []] } } }
          rescue timeout
            nil
          end.join
          request
        end
        refute served, "what is sent before the request goes before it"
        assert_equal 2, ended[:state]
        assert_equal 1, ended.kinds.count(:request_end)
      end
      assert_equal 0, faults
      refute mapped?
    end
    assert_equal 0, flight[:in_flight]
  end

  def test_a_child_records_into_nothing_of_its_parents
    record do
      request
      path = EventsReader.ask(flight_path, request: 11)
      request
      before = EventsReader.new(File.binread(path))[:claimed]
      pid = fork do
        Thread.new { sleep 0.001 }.join
        exit!(mapped? || Powerband::Native.path ? 1 : 0)
      end
      assert_predicate Process.wait2(pid)[1], :success?
      during = EventsReader.new(File.binread(path)).events.drop(before)
      refute_includes during.map(&:kind), :started
    end
  end

  # Which serves nothing there.
  def test_the_thread_that_forked_is_known_in_the_child
    pid = fork do
      named = nil
      record { Thread.new { named = traced { request }.threads }.join }
      exit!(named.any? { |thread| [thread.name, thread.native_id] == ["main", Process.pid] })
    ensure
      exit!(false)
    end
    assert_predicate Process.wait2(pid)[1], :success?
  end

  private

  def named(name, &block)
    Thread.new { Thread.current.name = name; block.call }.join # rubocop:disable Style/Semicolon
  end
end
