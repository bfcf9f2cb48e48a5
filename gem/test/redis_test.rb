# frozen_string_literal: true

require "test_helper"
require "redis"
require "redis-client"
require "support/one_request"
require "support/service"

# A real Redis, by redis-client and by the redis gem.
class RedisTest < Minitest::Test
  include OneRequest

  class << self
    def service
      @service ||= Service.redis.tap { |service| Minitest.after_run { service.stop } }
    end
  end

  def test_commands_and_pipelines
    client = RedisClient.config(port: self.class.service.port).new_client
    client.call("PING")
    record = one_request do
      assert_equal "OK", client.call("SET", "a", "1")
      assert_equal(%w[1 OK], client.pipelined { |pipeline| [%w[GET a], %w[SET b 2]].each { |c| pipeline.call(*c) } })
      assert_equal ["2"], client.multi { |transaction| transaction.call("GET", "b") }
      assert_raises(RedisClient::CommandError) { client.call("NOSUCH") }
    end

    assert_equal [4, 0], record.values_at(:redis_count, :faults)
    assert_operator record[:redis_us], :>, 0
  end

  def test_the_redis_gem_and_a_block_of_the_application
    redis = Redis.new(port: self.class.service.port)
    redis.ping
    record = one_request do
      assert_equal "OK", redis.set("c", "3")
      assert_equal 3, redis.get("c").then(&:to_i)
      assert_equal ["3"], redis.pipelined { |pipeline| pipeline.get("c") }
    end

    assert_equal 3, record[:redis_count]
  end

  # Connecting, then the greeting, then the command.
  def test_a_new_connections_greeting_is_one
    record = one_request { RedisClient.config(port: self.class.service.port).new_client.call("PING") }

    assert_equal 2, record[:redis_count]
  end

  def test_waiting_for_redis_is_its_time
    client = RedisClient.config(port: self.class.service.port).new_client
    client.call("PING")
    record = one_request { client.blocking_call(2, "BLPOP", "nothing", 0.1) }

    assert_equal 1, record[:redis_count]
    assert_operator record[:redis_us], :>=, 100_000
  end

  def test_outside_a_request_nothing_is_counted
    client = RedisClient.config(port: self.class.service.port).new_client
    flight = record { client.call("PING") && request }

    assert_equal [0, 0], flight.totals.values_at(:redis_count, :redis_ns)
  end
end
