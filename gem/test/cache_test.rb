# frozen_string_literal: true

require "test_helper"
require "active_support"
require "active_support/cache"
require "active_support/notifications"
require "active_support/cache/mem_cache_store"
require "active_support/cache/redis_cache_store"
require "dalli"
require "support/one_request"
require "support/service"

# Rails' cache on several stores, and Dalli by itself.
class CacheTest < Minitest::Test
  include OneRequest

  class << self
    def redis
      @redis ||= Service.redis.tap { |service| Minitest.after_run { service.stop } }
    end

    def memcached
      @memcached ||= Service.memcached.tap { |service| Minitest.after_run { service.stop } }
    end
  end

  def stores
    @stores ||= {
      memory: ActiveSupport::Cache::MemoryStore.new,
      memcached: ActiveSupport::Cache::MemCacheStore.new("127.0.0.1:#{self.class.memcached.port}"),
      redis: ActiveSupport::Cache::RedisCacheStore.new(url: "redis://127.0.0.1:#{self.class.redis.port}")
    }.each_value(&:clear)
  end

  # Rails announces no increments of a memory store.
  def test_each_operation_is_one_whatever_the_store
    stores.each do |name, store|
      store.write("warm", 1)
      record = one_request do
        store.write("a", 1)
        assert_equal [1, nil], [store.read("a"), store.read("none")]
        assert_equal({ "a" => 1 }, store.read_multi("a", "none"))
        store.write_multi("b" => 2, "c" => 3)
        assert store.exist?("b")
        store.delete("b")
        store.delete_multi(%w[c d])
        store.write("n", 1, raw: true)
        assert_equal 2, store.increment("n")
      end

      assert_equal [name == :memory ? 9 : 10, 0], record.values_at(:cache_count, :faults), name
      assert_operator record[:cache_us], :>, 0, name
    end
  end

  # A miss reads and writes; what the block does is the application's. On a busy machine the store may be slow, too,
  # but not each time.
  def test_the_block_of_fetch_is_not_the_caches_time
    stores.each do |name, store|
      records = Array.new(3) do |n|
        one_request do
          assert_equal(7, store.fetch("slow #{n}") { sleep(0.1) && 7 })
          assert_equal(7, store.fetch("slow #{n}") { flunk })
        end
      end

      assert_equal [3] * 3, records.map { |r| r[:cache_count] }, name
      assert_operator records.map { |r| r[:cache_us].fdiv(r[:wall_ns] / 1000) }.min, :<, 0.5, name
    end
  end

  def test_a_cache_that_asks_redis_counts_in_both
    store = stores.fetch(:redis)
    store.write("warm", 1)
    record = one_request { 3.times { store.read("warm") } }

    assert_equal [3, 3], record.values_at(:cache_count, :redis_count)
    assert_operator record[:cache_us], :>=, record[:redis_us]
  end

  def test_dalli_by_itself
    client = Dalli::Client.new("127.0.0.1:#{self.class.memcached.port}")
    client.set("warm", 1)
    seen = {}
    record = one_request do
      client.set("a", 1)
      assert_equal 1, client.get("a")
      assert_equal({ "a" => 1 }, client.get_multi("a", "none"))
      client.get_multi("a", "warm") { |key, value| seen[key] = value }
      client.cas("a") { |value| value + 1 }
      assert_equal(2, client.fetch("a") { flunk })
      assert_raises(ArgumentError) { client.get("") }
    end

    assert_equal({ "a" => 1, "warm" => 1 }, seen)
    assert_equal [8, 0], record.values_at(:cache_count, :faults)
  end

  def test_outside_a_request_nothing_is_counted
    flight = record do
      stores.each_value { |store| store.read("a") }
      request
    end

    assert_equal [0, 0, 0], flight.totals.values_at(:cache_count, :cache_ns, :redis_count)
  end
end
