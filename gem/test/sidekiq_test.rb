# frozen_string_literal: true

require "test_helper"
require "json"
require "redis-client"
require "support/native_double"
require "support/processes"
require "support/server_process"
require "support/service"

# A real Sidekiq on a real Redis.
class SidekiqTest < Minitest::Test
  include NativeDouble

  # A Sidekiq process, awaited by what it records.
  class Worker < ServerProcess
    COMMAND = %w[sidekiq -r ./jobs.rb -c 3].freeze

    def listen
      []
    end

    def self.work(jobs, redis, **options)
      Dir.mktmpdir("powerband-sidekiq-") do |root|
        worker = new(root, [], app: [], **options, env: { "REDIS_URL" => redis }.merge(options[:env] || {}))
        worker.await("the last job") { worker.flights.sum { |flight| flight[:written] } == jobs }
        worker.stop
        return worker.flights
      ensure
        worker&.kill
      end
    end
  end

  def self.redis
    @redis ||= Service.redis.tap { |service| Minitest.after_run { service.stop } }
  end

  def redis
    "redis://127.0.0.1:#{self.class.redis.port}"
  end

  # As Sidekiq's client does, with the time at which the job says that it came into its queue.
  def push(told, enqueued_at: Time.now.to_f, **more)
    job = { class: "HardWorker", args: [told], jid: rand(1 << 64).to_s(16), retry: false, queue: "default",
            created_at: enqueued_at, enqueued_at:, **more }
    client.call("LPUSH", "queue:default", job.to_json)
  end

  def client
    @client ||= RedisClient.config(url: redis).new_client
  end

  def test_jobs_of_an_injected_sidekiq
    %w[sleep sleep raise skip].each { |told| push(told) }
    push("nothing", class: "Wrapper", wrapped: "Reports::DailyJob")
    flight, *others = Worker.work(5, redis)
    jobs = flight.endpoints.to_h { |endpoint| [endpoint.name, endpoint.counters] }

    assert_empty others
    assert_match(/\Asidekiq \d+\.\d+/, flight[:server_name])
    assert_equal [3, 3, 0], flight.header.values_at(:server_min_threads, :server_max_threads, :faults)
    assert_equal [4, 1, 4, 4], jobs.fetch("job HardWorker").values_at(:requests, :server_errors, :queue_known, :redis_count)
    assert_equal [1, 0], jobs.fetch("job Reports::DailyJob").values_at(:requests, :server_errors)
    flight.records.each { |record| assert_equal [4, 0], [record[:flags] & 4, record[:status]] }
    # Those that slept, and any for which a busy machine's Redis took as long.
    assert_operator flight.records.count { |record| record[:io_ns] >= 50_000_000 }, :>=, 2
  end

  # Otherwise the job would be tried again, or have its own exception replaced.
  def test_what_we_raise_does_not_reach_the_job
    ours = ->(*) { raise TypeError, "ours" }
    ran = 0
    capture_io do
      %i[job_start job_finish].each do |broken|
        with_native(broken, ours) do
          assert_equal :done, Powerband::SidekiqHooks::Middleware.new.call(nil, {}, nil) { (ran += 1) && :done }
        end
      end
    end

    assert_equal 2, ran
  end

  # Seconds, milliseconds, a clock that is ahead, none.
  def test_the_queues_latency
    now = Time.now.to_f
    push("seconds", enqueued_at: now - 7200)
    push("milliseconds", enqueued_at: ((now - 3600) * 1000).to_i)
    push("ahead", enqueued_at: now + 3600)
    push("none", enqueued_at: nil)
    records = Worker.work(4, redis)[0].records.map { |record| [record[:flags] & 1, record[:queue_ns] / 1_000_000_000] }.sort

    assert_equal [[0, 0], [0, 0]], records.first(2)
    assert_in_delta 3600, records[2][1], 60
    assert_in_delta 7200, records[3][1], 60
  end

  def test_the_gem_in_the_application_and_both_at_once
    env = { "RUBYOPT" => "-I#{GEM_ROOT}/lib", "RUBYLIB" => nil, "WITH_GEM" => "1" }
    [env, { "WITH_GEM" => "1" }].each do |how|
      2.times { push("sleep") }
      flight, *others = Worker.work(2, redis, env: how)

      assert_empty others
      assert_equal [2, 3, 0], flight.header.values_at(:written, :server_max_threads, :faults)
      assert_equal 2, flight.totals[:redis_count]
    end
  end

  def test_embedded_in_another_process
    env = { "RUBYOPT" => "-I#{GEM_ROOT}/lib", "RUBYLIB" => nil, "EMBEDDED" => "1" }
    2.times { push("sleep") }
    flight, = Worker.work(2, redis, env:, command: [RbConfig.ruby, "jobs.rb"])

    assert_equal [2, 2], flight.header.values_at(:written, :server_max_threads)
  end

  def test_switched_off_and_a_sidekiq_that_only_pushes
    program = 'require "sidekiq"; Sidekiq::Client; print Powerband.constants.inspect'
    out, err, = Processes.run_injected(RbConfig.ruby, "-W0", "-e", program)
    assert_equal ["[:Inject]", ""], [out, err]

    program = 'require "sidekiq/cli"; print Sidekiq.default_configuration.server_middleware.map(&:klass).inspect'
    { "0" => false, "1" => true }.each do |enabled, there|
      out, = Processes.run_injected(RbConfig.ruby, "-W0", "-e", program, env: { "POWERBAND_ENABLED" => enabled })
      assert_equal there, out.include?("Powerband::SidekiqHooks::Middleware"), out
    end
  end
end
