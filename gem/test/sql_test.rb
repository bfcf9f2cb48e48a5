# frozen_string_literal: true

require "test_helper"
require "support/database"
require "support/native_double"
require "support/neighbour"
require "support/one_request"

# Queries through the real ActiveRecord.
class SqlTest < Minitest::Test
  include OneRequest
  include Neighbour
  include NativeDouble

  Thing = Database::Thing

  # As many as Rails itself counts, less those that its cache answered.
  def test_queries_count_as_in_rails_log
    Database.open do
      record = one_request do
        ActiveRecord::RuntimeRegistry.reset
        Thing.create!(name: "two")
        Thing.transaction { 3.times { |i| Thing.create!(name: i.to_s) } }
        Thing.cache { 4.times { Thing.count } }
        Thing.find_by(name: "no").nil? && Thing.where(name: "2").delete_all
      end
      registry = ActiveRecord::RuntimeRegistry
      rails = registry.respond_to?(:stats) ? registry.stats : registry # from Rails 8.1 on

      assert_equal [10, 3], [rails.queries_count, rails.cached_queries_count]
      assert_equal [7, 0], record.values_at(:sql_count, :faults)
      assert_operator record[:sql_us], :>, 0
    end
  end

  def test_the_time_of_a_commit_counts_though_it_is_no_query
    Database.open do
      record = one_request { Database.nap(0) && Thing.lease_connection.send(:log, "COMMIT", "TRANSACTION") { sleep 0.1 } }

      assert_equal 1, record[:sql_count]
      assert_operator record[:sql_us], :>=, 100_000
    end
  end

  # The neighbour keeps the GVL for 100 ms at a time. A busy machine wakes a thread late, now and then by some 10 ms.
  def test_a_query_beside_a_spinning_thread_took_what_it_took
    Database.open do
      flight = record { beside_a_spinning_thread { 9.times { request { Database.nap(0.005) && [200, {}, []] } } } }
      seen = flight.records.map { |r| r[:sql_us] }.sort
      really = flight.records.map { |r| r[:sql_us] - r[:sql_gvl_us] }.sort

      assert_includes 5_000..10_000, really.first
      assert_operator really[4], :<, 40_000
      assert_operator seen[4], :>, 60_000
    end
  end

  def test_a_query_that_fails_is_one_and_its_exception_passes
    Database.open do
      record = one_request do
        assert_raises(ActiveRecord::StatementInvalid) { Thing.lease_connection.execute("SELECT nothing FROM nowhere") }
        Thing.count
      end

      assert_equal [2, 0], record.values_at(:sql_count, :faults)
    end
  end

  def test_outside_a_request_nothing_is_counted
    Database.open do
      flight = record do
        Thing.count
        request { [200, {}, []] }
        Thing.count
      end

      assert_equal [0, 0], [flight.totals[:sql_count], flight.totals[:sql_ns]]
    end
  end

  def test_a_neighbours_queries_are_its_own
    Database.open do
      flight = record do
        threads = [1, 3].map do |count|
          Thread.new do
            request("PATH_INFO" => "/#{count}x") { count.times { Thing.count } && [200, {}, []] }
            Database.release
          end
        end
        threads.each(&:join)
      end
      counts = flight.records.to_h { |r| [flight.endpoint_of(r), r[:sql_count]] }

      assert_equal({ "GET /1x" => 1, "GET /3x" => 3 }, counts)
    end
  end

  def test_what_our_subscriber_raises_does_not_reach_the_application
    commit = -> { Thing.lease_connection.send(:log, "COMMIT", "TRANSACTION") { nil } }
    count = -> { assert_equal 1, Thing.count }
    { call_start: count, call_finish: count, call_prepared: commit }.each do |broken, ask|
      Database.open do
        _, said = capture_io do
          record = with_native(broken, ->(*) { raise TypeError, "ours" }) { one_request { ask.call } }
          assert_operator record[:faults], :>=, 1, broken
          assert_equal 0, record[:flags], broken
        end
        assert_operator said.scan("powerband:").size, :<=, 1
      end
    end
  end

  def test_no_object_is_made_by_our_subscriber
    subscriber = Powerband::Calls::Notifications::Sql.new
    payload = { name: "Thing Load", sql: "SELECT 1" }
    record do
      request do
        made = allocated do
          subscriber.start("sql.active_record", "1", payload)
          subscriber.finish("sql.active_record", "1", payload)
        end
        assert_equal 0, made
        [200, {}, []]
      end
    end
  end

  # A timeout's exception may be of nearly any class. Ruby raises it, among other places, where a method in C returns.
  def test_an_exception_of_another_thread_passes_through_us
    subscriber = Powerband::Calls::Notifications::Sql.new
    theirs = Class.new(StandardError)
    { call_start: :start, call_finish: :finish }.each do |native, ours|
      interruption = TracePoint.new(:c_return) { |point| raise theirs if point.method_id == native }
      record do
        request do
          assert_raises(theirs) { interruption.enable { subscriber.public_send(ours, "", "", {}) } }
          [200, {}, []]
        end
      end
    end
  end

  private

  # Objects made in a hundred times, in the one of several rounds in which no other thread made any.
  def allocated(&block)
    Array.new(10) do
      before = GC.stat(:total_allocated_objects)
      100.times(&block)
      GC.stat(:total_allocated_objects) - before
    end.min
  end
end
