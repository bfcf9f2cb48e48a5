# frozen_string_literal: true

require "test_helper"
require "monitor"
require "support/child"
require "support/events_reader"

# Which locks requests wait for, and how long others hold them.
class ContentionTest < Minitest::Test
  include Child
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

  def test_a_wait_for_a_queue_is_known_by_its_line
    flight = record { request { Queue.new.pop(timeout: 0.001) || [200, {}, []] } }

    assert_equal [QUEUE], (flight.locks.values.map { |l| l[:kind] })
    assert_match(/contention_test.rb:#{__LINE__ - 3}\z/, flight.locks.values.first[:site])
  end

  LIBRARIES = {
    monitor: "/usr/lib/ruby/3.3.0/monitor.rb",
    connection_pool: "/srv/app/vendor/bundle/ruby/3.3.0/gems/connection_pool-2.4.1/lib/connection_pool/timed_stack.rb",
    concurrent_ruby: "/gems/concurrent-ruby-1.3.4/lib/concurrent-ruby/concurrent/atomic/event.rb",
    active_record: "/gems/activerecord-7.2.2/lib/active_record/connection_adapters/abstract/connection_pool.rb",
    active_support: "/gems/activesupport-7.2.2/lib/active_support/concurrency/share_lock.rb"
  }.freeze

  LIBRARIES.each do |name, path|
    define_method("test_a_wait_in_#{name}_is_of_the_line_that_calls_it") do
      wait = waiting_in(path)
      flight = record(app_root: "/srv/app") { request { wait.call && [200, {}, []] } }

      assert_match(/contention_test.rb:#{__LINE__ - 2}\z/, flight.locks.values.first[:site])
    end
  end

  # By the application's root and the path of the code that waits.
  SITES = {
    ["/srv/app", "/srv/app/app/models/monitor.rb"] => "app/models/monitor.rb:1",
    ["/srv/app", "/srv/app/lib/connection_pool/stack.rb"] => "lib/connection_pool/stack.rb:1",
    ["/srv/gems/app", "/srv/gems/app/lib/cache.rb"] => "lib/cache.rb:1",
    ["/srv/gems/app", "/srv/gems/app/monitor.rb"] => "monitor.rb:1",
    ["/srv/app", "/srv/app/vendor/bundle/ruby/3.3.0/gems/dalli-3.2.8/lib/dalli.rb"] => "dalli-3.2.8/lib/dalli.rb:1",
    ["/srv/app", "/var/lib/gems/3.3.0/gems/dalli-3.2.8/lib/dalli.rb"] => "dalli-3.2.8/lib/dalli.rb:1",
    ["/srv/app", "/srv/apples/lib/cache.rb"] => "/srv/apples/lib/cache.rb:1"
  }.freeze

  def test_a_site_is_named_from_the_root_of_the_application_or_a_folder_of_gems
    found = SITES.keys.to_h do |root, path|
      wait = waiting_in(path)
      flight = record(app_root: root) { request { wait.call && [200, {}, []] } }
      [[root, path], flight.locks.values.first[:site]]
    end

    assert_equal SITES, found
  end

  def waiting_in(path)
    RubyVM::InstructionSequence.compile("-> { Queue.new.pop(timeout: 0.001) || true }", path).eval
  end

  # Of a thread that serves no request, too: until it unlocks, and not until it next gives the GVL up.
  def test_a_hold_ends_when_its_thread_was_seen_to_run_again
    lock = Mutex.new
    longest = 0
    hold = lambda do |seconds|
      began = now_ns
      lock.synchronize { sleep(seconds) }
      longest = [longest, now_ns - began].max
    end
    flight = record do
      crowd(2) { hold.call(0.001) }
      Thread.new do
        hold.call(HOLD)
        run_for(4 * HOLD_NS)
        sleep 0.001
      end.join
    end

    assert_includes HOLD_NS..longest, flight.locks.values.first[:longest_held_ns]
  end

  # A request that began in one file ends while another one is open.
  def test_a_wait_that_outlives_its_file_is_in_no_other
    queue = Queue.new
    late = nil
    record do
      late = Thread.new { request { queue.pop } }
      Thread.pass until late.status == "sleep"
    end
    flight = record do
      request { Queue.new.pop(timeout: 0.001) || [200, {}, []] }
      queue << [200, {}, []]
      late.join
    end

    assert_equal([1], flight.locks.values.map { |l| l[:waits] })
    assert_equal flight.totals[:lock_wait_ns], (flight.locks.values.sum { |l| l[:wait_ns] })
  end

  # Its threads run at the same time as the one that has the lock, and give up their own Ractor's GVL.
  def test_threads_of_another_ractor_hold_no_lock
    in_child do
      Ractor.new { loop { sleep 0.0005 } }
      lock = Mutex.new
      events = nil
      flight = record(bursts: 1) do
        crowd do
          lock.synchronize do
            run_for(HOLD_NS / 5)
            sleep 0.001
          end
        end
        events = EventsReader.new(File.binread(Powerband::Native.path.sub(".flight", ".bursts"))).events
      end

      assert_operator flight.locks.values.first[:holds], :<=, THREADS * ROUNDS
      held = events.select { |e| e.kind == :suspended && e.detail.zero? && e.argument == 2 }
      assert_operator held.size, :>=, (THREADS * ROUNDS) - 2
    end
  end

  def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

  # Without giving the GVL up, unless it is taken away.
  def run_for(duration_ns)
    ends = now_ns + duration_ns
    nil until now_ns > ends
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
