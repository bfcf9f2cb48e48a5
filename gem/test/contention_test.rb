# frozen_string_literal: true

require "test_helper"
require "monitor"
require "support/events_reader"

# Which locks requests wait for, and how long others hold them.
class ContentionTest < Minitest::Test
  include Recording

  MUTEX = 1
  QUEUE = 2
  CONDITION = 4
  MONITOR = 5
  HOLD = 0.05
  HOLD_NS = HOLD * 1_000_000_000
  THREADS = 4
  ROUNDS = 3

  # Each thread's requests, all at once.
  def crowd(threads = THREADS, &work)
    Array.new(threads) { Thread.new { ROUNDS.times { request { work.call && [200, {}, []] } } } }.each(&:join)
  end

  { Thread::Mutex => MUTEX, Monitor => MONITOR }.each do |type, kind|
    define_method("test_a_#{type.name[/\w+\z/].downcase}_is_known_by_its_line_with_waits_and_holds") do
      lock = type.new
      flight = record(app_root: File.expand_path("..", __dir__)) { crowd { lock.synchronize { sleep(HOLD) } } }
      line = __LINE__ - 1

      lock = flight.locks.values.first
      assert_equal [1, "test/contention_test.rb:#{line}", kind, 1], [flight.locks.size, *lock.values_at(:site, :kind, :objects)]
      assert_held_in_turns flight, lock
    end
  end

  # The hold that others wait for first is not seen from its begin, and the end of the last perhaps too late.
  def assert_held_in_turns(flight, lock)
    assert_equal flight.totals[:lock_wait_ns], lock[:wait_ns]
    assert_operator lock[:waits], :>=, THREADS - 1
    assert_includes (THREADS * ROUNDS) - 2..THREADS * ROUNDS, lock[:holds]
    assert_operator lock[:held_ns], :>=, lock[:holds] * HOLD_NS
    # One thread has it at a time.
    ended = flight.records.map { |r| r[:start_mono_ns] + r[:wall_ns] }.max
    assert_operator lock[:held_ns], :<=, ended - lock[:first_mono_ns]
    assert_operator lock[:longest_held_ns], :>=, HOLD_NS
  end

  def test_a_wait_for_a_signal_is_no_wait_for_the_mutex
    mutex = Mutex.new
    condition = ConditionVariable.new
    flight = record { request { mutex.synchronize { condition.wait(mutex, HOLD) } && [200, {}, []] } }

    assert_equal([[CONDITION, 0, 0]], flight.locks.values.map { |l| l.values_at(:kind, :objects, :holds) })
  end

  def test_the_line_is_of_whoever_asks_a_library_of_locks
    queue = Queue.new
    flight = record { request { queue.pop(timeout: HOLD) || [200, {}, []] } }

    assert_equal [QUEUE], (flight.locks.values.map { |l| l[:kind] })
    assert_match(/contention_test.rb:#{__LINE__ - 3}\z/, flight.locks.values.first[:site])
  end

  def test_a_lock_for_each_key_is_one_row_of_several_objects
    locks = Array.new(2) { Mutex.new }
    flight = record { locks.map { |lock| Thread.new { crowd(2) { lock.synchronize { sleep(HOLD) } } } }.each(&:join) }

    assert_equal([2], flight.locks.values.map { |l| l[:objects] })
  end

  def test_more_places_than_rows_are_others
    lines = Array.new(70) { "->(queue) { queue.pop(timeout: 0.001) }" }
    waits = RubyVM::InstructionSequence.compile("[#{lines.join(",\n")}]", "places.rb").eval
    queue = Queue.new
    flight = record { waits.each { |wait| request { wait.call(queue) || [200, {}, []] } } }

    assert_equal (0..63).to_a, flight.locks.keys
    assert_equal 7, flight.locks[0][:waits]
    assert_equal "", flight.locks[0][:site]
    assert_equal flight.totals[:lock_wait_ns], (flight.locks.values.sum { |l| l[:wait_ns] })
  end

  def test_events_say_which_lock_is_awaited_and_which_are_held
    lock = Mutex.new
    events = nil
    record(bursts: 1) do
      crowd { lock.synchronize { sleep(HOLD) } }
      events = EventsReader.new(File.binread(Powerband::Native.path.sub(".flight", ".bursts"))).events
    end
    given_up = events.select { |event| event.kind == :suspended }

    assert_equal [1], given_up.select { |e| e.detail == 1 }.map(&:code).uniq
    assert_equal [0], given_up.select { |e| e.detail == 1 }.map(&:argument).uniq
    held = given_up.select { |e| e.detail.zero? && e.argument == 2 }
    assert_operator held.size, :>=, (THREADS * ROUNDS) - 2
  end

  # Only so many are followed at once: an earlier one gives its place up, and no other object is taken for it.
  def test_mutexes_come_and_go
    flight = record do
      20.times do
        lock = Mutex.new
        crowd(2) { lock.synchronize { sleep 0.001 } }
        GC.start
      end
    end

    assert_equal([20], flight.locks.values.map { |l| l[:objects] })
  end
end
