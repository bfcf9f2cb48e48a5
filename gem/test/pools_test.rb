# frozen_string_literal: true

require "json"
require "test_helper"
require "support/database"
require "support/native_double"
require "support/one_request"

# The connection pool of the real ActiveRecord: who waits for it, and how it stands.
class PoolsTest < Minitest::Test
  include OneRequest
  include NativeDouble

  HOLD = 0.3 # seconds

  # Another thread holds the only connection until the request waits for it, and for HOLD after that.
  def waiting_request
    Database.open(pool: 1) do
      pool = Database.pool
      held = Queue.new
      holder = Thread.new do
        pool.with_connection do
          held << true
          Thread.pass until pool.stat[:waiting] == 1
          sleep HOLD
        end
      end
      held.pop
      one_request { pool.with_connection { |connection| connection.select_value("SELECT 1") } }.tap { holder.join }
    end
  end

  def test_a_request_that_waits_for_the_only_connection
    record = waiting_request

    assert_equal [1, 1, 0], record.values_at(:pool_count, :sql_count, :faults)
    assert_operator record[:pool_us], :>=, HOLD * 1_000_000
    assert_operator record[:pool_us], :<=, record[:wall_ns] / 1000
    assert_operator record[:pool_us] - record[:pool_gvl_us], :>=, HOLD * 900_000
    assert_operator record[:sql_us], :<, record[:pool_us]
  end

  def test_a_connection_that_is_there_is_no_wait
    Database.open(pool: 2) do
      record = one_request { 3.times { Database.pool.with_connection { |connection| connection.select_value("SELECT 1") } } }

      assert_equal [0, 0, 3], record.values_at(:pool_count, :pool_us, :sql_count)
    end
  end

  def test_a_connection_that_never_comes
    Database.open(pool: 1) do
      pool = Database.pool
      held = Queue.new
      done = Queue.new
      holder = Thread.new { pool.with_connection { (held << true) && done.pop } }
      held.pop
      record = one_request { assert_raises(ActiveRecord::ConnectionTimeoutError) { pool.checkout(0.1) } }
      done << true
      holder.join

      assert_equal 1, record[:pool_count]
      assert_operator record[:pool_us], :>=, 100_000
    end
  end

  # Asking it for what it has not would be a fault each second.
  def test_a_pool_of_another_kind_is_left_alone
    other = Class.new { def checkout = :connection }

    refute Powerband::Pools.hook(other)
    assert_equal [:checkout], other.instance_methods(false)
  end

  def test_samples_of_two_pools
    Database.open(pool: 3) do
      SecondBase.establish_connection(adapter: "sqlite3", database: ":memory:", pool: 7)
      flight = record do
        held = Queue.new
        done = Queue.new
        holder = Thread.new { Database.pool.with_connection { (held << true) && done.pop } }
        held.pop
        SecondBase.lease_connection.select_value("SELECT 1")
        Powerband::Pools.sample
        SecondBase.release_connection
        done << true
        holder.join
      end
      samples = flight.pool_samples.group_by { |sample| sample[:size] }.transform_values(&:last)

      assert_equal [1, 1, 0, 0, 0], samples.fetch(3).values_at(:connections, :busy, :dead, :idle, :waiting)
      assert_equal [1, 1, 0, 0, 0], samples.fetch(7).values_at(:connections, :busy, :dead, :idle, :waiting)
      refute_equal samples[3][:pool], samples[7][:pool]
    ensure
      SecondBase.remove_connection
    end
  end

  class SecondBase < ActiveRecord::Base
    self.abstract_class = true
  end

  # The file's first request finds that a sample is due; those of the same second do not.
  def test_a_request_that_begins_samples_at_most_once_a_second
    Database.open(pool: 3) do
      flight = record { 20.times { request } }

      assert_equal 1, (flight.pool_samples.count { |sample| sample[:size] == 3 })
      assert_equal [0, 1], flight.pool_samples.find { |sample| sample[:size] == 3 }.values_at(:busy, :idle)
    end
  end

  def test_a_pool_that_was_taken_out_is_not_sampled
    Database.open(pool: 3) { nil }
    flight = record { Powerband::Pools.sample }

    assert_empty flight.pool_samples
  end

  def test_a_thread_that_died_with_a_connection_is_dead
    Database.open(pool: 3) do
      Thread.new { Database.pool.lease_connection }.join
      flight = record { Powerband::Pools.sample }

      assert_equal 1, flight.pool_samples.find { |sample| sample[:size] == 3 }[:dead]
    end
  end

  # The holder of the pool's lock may be waiting for the database.
  def test_a_locked_pool_is_left_alone
    Database.open(pool: 3) do
      locked = Queue.new
      done = Queue.new
      holder = Thread.new { Database.pool.synchronize { (locked << true) && done.pop } }
      locked.pop
      flight = record { Powerband::Pools.sample }
      done << true
      holder.join

      assert_empty(flight.pool_samples.select { |sample| sample[:size] == 3 })
    end
  end

  # Rails discards the parent's pools in a child, and makes new ones as they are asked for.
  def test_a_forked_child_samples_its_own_pools
    Database.open(pool: 3) do
      flight = record do
        reader, writer = IO.pipe
        pid = fork do
          Powerband::Native.open(OPTIONS.merge(root: Dir.mktmpdir))
          Powerband::Calls.each_second
          Database.pool.with_connection { |connection| connection.select_value("SELECT 1") }
          Powerband::Calls.each_second
          child = FlightReader.new(File.binread(Powerband::Native.path))
          FileUtils.rm_r(File.dirname(Powerband::Native.path, 2))
          writer.write([child.pool_samples.map { |s| s.values_at(:pool, :size) }, child[:faults]].to_json)
          exit!(true)
        end
        writer.close
        assert_equal [[[0, 3]], 0], JSON.parse(reader.read)
        Process.wait(pid)
      end
      assert_empty flight.pool_samples
    end
  end

  def test_what_breaks_in_sampling_is_counted_and_hurts_no_request
    Database.open(pool: 3) do
      capture_io do
        flight = with_native(:pool_sample, ->(*) { raise "ours" }) { record { request } }

        assert_equal [1, 1], flight.header.values_at(:written, :faults)
      end
    end
  end
end
