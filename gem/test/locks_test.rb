# frozen_string_literal: true

require "test_helper"
require "monitor"
require "socket"

# What a request waits for while it has given the GVL up: a lock, or anything else.
class LocksTest < Minitest::Test
  include Recording

  LONG = 0.15 # seconds that each wait takes at least, much longer than anything else in these requests
  # What must be seen of it. No share of the request: a busy machine makes the rest of that longer as well.
  LEAST_NS = LONG * 700_000_000

  class Jobs < Thread::Queue; end

  class Mixed
    include MonitorMixin

    def pass_time
      synchronize { new_cond.wait(LONG) }
    end
  end

  # Records one request, which says through the queue that it is about to wait; the block then ends its wait.
  def waiting(work, &release)
    record do
      ready = Queue.new
      thread = Thread.new { request { work.call(ready) && [200, {}, []] } }
      ready.pop
      Thread.pass until thread.stop?
      sleep(LONG)
      release&.call
      thread.join
    end.records.first
  end

  def assert_lock(record)
    assert_split record
    assert_operator record[:lock_wait_ns], :>, LEAST_NS
    assert_operator record[:io_ns], :<, record[:wall_ns] * 0.1
  end

  def assert_io(record)
    assert_split record
    assert_operator record[:io_ns], :>, LEAST_NS
    assert_operator record[:lock_wait_ns], :<, record[:wall_ns] * 0.1
  end

  def assert_split(record)
    assert_equal record[:wall_ns], record.values_at(:held_ns, :gvl_wait_ns, :lock_wait_ns, :io_ns).sum
    assert_operator record[:wall_ns], :>=, LONG * 1_000_000_000
  end

  { mutex: Thread::Mutex, monitor: Monitor }.each do |name, type|
    define_method("test_a_#{name}_that_another_holds_is_a_lock") do
      lock = type.new
      %i[synchronize enter].each do |way|
        next if way == :enter && type == Thread::Mutex

        assert_lock(held_by_another(lock) { |ready| way == :enter ? (ready << 1) && lock.enter.nil? : lock.synchronize { 1 } })
      end
    end
  end

  def held_by_another(lock)
    taken = Queue.new
    release = Queue.new
    holder = Thread.new { lock.synchronize { (taken << 1) && release.pop } }
    taken.pop
    waiting(->(ready) { (ready << 1) && yield(ready) }) { release << 1 }
  ensure
    holder&.join
  end

  def test_queues_are_locks
    [Thread::Queue.new, Jobs.new].each do |queue|
      assert_lock(waiting(->(ready) { (ready << 1) && queue.pop }) { queue << 1 })
      assert_lock(waiting(->(ready) { (ready << 1) && (queue.pop(timeout: LONG) || 1) }))
    end
    full = Thread::SizedQueue.new(1)
    full << 1
    assert_lock(waiting(->(ready) { (ready << 1) && full.push(2) }) { full.pop })
  end

  def test_condition_variables_are_locks
    mutex = Thread::Mutex.new
    condition = Thread::ConditionVariable.new
    wait = ->(ready) { mutex.synchronize { (ready << 1) && condition.wait(mutex) } }

    assert_lock(waiting(wait) { mutex.synchronize { condition.signal } })
    assert_lock(waiting(->(ready) { (ready << 1) && mutex.synchronize { condition.wait(mutex, LONG) || 1 } }))
    assert_lock(waiting(->(ready) { (ready << 1) && (Mixed.new.pass_time || 1) }))
  end

  def test_a_sleep_in_a_mutex_is_a_lock
    assert_lock(waiting(->(ready) { (ready << 1) && Thread::Mutex.new.tap(&:lock).sleep(LONG) }))
  end

  def test_what_is_waited_for_under_a_lock_is_io
    reader, writer = IO.pipe
    [Thread::Mutex.new, Monitor.new].each do |lock|
      assert_io(waiting(->(ready) { (ready << 1) && lock.synchronize { sleep(LONG) } }))
      assert_io(waiting(->(ready) { (ready << 1) && lock.synchronize { reader.readpartial(1) } }) { writer << "x" })
    end
  end

  def test_sleeps_sockets_threads_and_files_locks_are_io
    here, there = UNIXSocket.pair
    assert_io(waiting(->(ready) { (ready << 1) && sleep(LONG) }))
    assert_io(waiting(->(ready) { (ready << 1) && here.wait_readable }) { there << "x" })
    assert_io(waiting(->(ready) { (ready << 1) && Thread.new { sleep(LONG) }.join }))
    assert_io(waiting(->(ready) { (ready << 1) && Thread.new { sleep(LONG) }.value }))
    File.open(__FILE__) do |mine|
      mine.flock(File::LOCK_EX)
      theirs = File.open(__FILE__)
      assert_io(waiting(->(ready) { (ready << 1) && theirs.flock(File::LOCK_EX) }) { mine.flock(File::LOCK_UN) })
    end
  end

  def test_a_connection_pool_is_a_lock
    require "connection_pool"
    pool = ConnectionPool.new(size: 1, timeout: 60) { :connection }
    assert_lock(held_by_another_checkout(pool) { |ready| (ready << 1) && pool.with { 1 } })
  rescue LoadError
    skip "the gem connection_pool is not installed"
  end

  def test_active_records_pool_is_a_lock
    pool = active_record_pool
    assert_lock(held_by_another_checkout(pool, :with_connection) { |ready| (ready << 1) && pool.with_connection { 1 } })
  rescue LoadError
    skip "ActiveRecord and sqlite3 are not installed"
  ensure
    ActiveRecord::Base.remove_connection if pool
  end

  def active_record_pool
    require "active_record"
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:", pool: 1, checkout_timeout: 60)
    ActiveRecord::Base.connection_pool
  end

  def held_by_another_checkout(pool, way = :with, &work)
    taken = Queue.new
    release = Queue.new
    holder = Thread.new { pool.public_send(way) { (taken << 1) && release.pop } }
    taken.pop
    waiting(work) { release << 1 }
  ensure
    holder&.join
  end

  # A thread that was killed between a start and its finish has no frame left when it gives the GVL up for good.
  def test_a_thread_that_ends_while_it_serves_is_let_go
    flight = record do
      threads = Array.new(10) { Thread.new { Powerband::Native.start({}) && sleep } }
      Thread.pass until threads.all?(&:stop?)
      threads.each(&:kill).each(&:join)
      request
    end

    assert_equal [0, 1], flight.header.values_at(:in_flight, :written)
  end
end
