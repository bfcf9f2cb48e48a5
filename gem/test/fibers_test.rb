# frozen_string_literal: true

require "test_helper"
require "support/events_reader"

# Under a fiber scheduler requests take turns on one thread. What is true of each is recorded, and nothing else.
class FibersTest < Minitest::Test
  include Recording

  # As little of a scheduler as sleeping takes.
  class Scheduler
    def initialize
      @asleep = []
    end

    def fiber(&)
      Fiber.new(blocking: false, &).tap(&:resume)
    end

    def kernel_sleep(seconds = 0)
      @asleep << [now + seconds, Fiber.current]
      Fiber.yield
    end

    def close
      until @asleep.empty?
        at, fiber = @asleep.delete(@asleep.min_by(&:first))
        Thread.new { sleep([at - now, 0].max) }.join
        fiber.resume
      end
    end

    def block(*) = raise(NotImplementedError)
    def unblock(*) = raise(NotImplementedError)
    def io_wait(*) = raise(NotImplementedError)
    # Ruby 4.0 warns where there is none.
    def fiber_interrupt(*) = raise(NotImplementedError)

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end

  def fibers
    Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      yield
    end.join
  end

  # Which request a hand-over belongs to is not known: the thread's are recorded, and no request.
  def test_a_trace_has_the_threads_hand_overs
    record do
      trace = EventsReader.ask(Powerband::Native.path, request: 3)
      fibers { 2.times { Fiber.schedule { request { sleep 0.002 } } } }
      EventsReader.word(Powerband::Native.path, 0)
      fibers { Fiber.schedule { request } }
      events = EventsReader.new(File.binread(trace))

      assert_equal 2, events[:state]
      assert_includes events.kinds, :suspended
      assert_empty events.kinds & %i[request_begin request_end]
    end
  end

  # Four at once on one thread, each of which waits as long as its path says.
  def test_requests_that_overlap_on_one_thread
    sleeper = ->(env) { sleep(env["PATH_INFO"].delete("/").to_i / 1000.0) && [200, {}, []] }
    flight = record do
      fibers { [200, 50, 100, 150].each { |ms| Fiber.schedule { request("PATH_INFO" => "/#{ms}", &sleeper) } } }
    end
    records = flight.records

    assert_equal 2, flight[:flags] & 2
    assert_equal [1, 2, 3, 4], records.map { |r| r[:busy_threads] }.sort
    # The scheduler wakes them in another order than they came in.
    as_they_came = records.sort_by { |r| r[:start_mono_ns] }
    as_they_came.zip([200, 50, 100, 150]) { |r, ms| assert_operator r[:wall_ns], :>=, ms * 1_000_000 }
    assert_equal [200], records.map { |r| r[:status] }.uniq
    assert_equal 1, records.map { |r| r[:thread_id] }.uniq.size
    assert_equal [0, 4], flight.header.values_at(:in_flight, :written)
  end

  def test_the_threads_split_is_nobodys
    flight = record { fibers { Fiber.schedule { request { 1000.times { +"x" } && [200, {}, []] } } } }

    %i[held_ns gvl_wait_ns lock_wait_ns io_ns cpu_ns gc_ns allocations yields sql_us parse_us]
      .each { |field| assert_equal 0, flight.records.first[field], field }
  end

  def test_queue_time_endpoint_and_what_was_raised
    sent = Time.now.to_f - 3
    flight = record do
      fibers do
        Fiber.schedule { request("HTTP_X_REQUEST_START" => "t=#{sent}", "PATH_INFO" => "/orders/7") }
        Fiber.schedule { assert_raises(RuntimeError) { request { raise "theirs" } } }
      end
    end
    first, second = flight.records

    assert_includes 2.999..(Time.now.to_f - sent), first[:queue_ns] / 1e9
    assert_equal "GET /orders/:id", flight.endpoint_of(first)
    assert_equal [0, 2], second.values_at(:status, :flags)
  end

  def test_two_layers_count_once_and_an_environment_may_come_again
    inner = Powerband::Middleware.new(->(_) { [200, {}, []] })
    flight = record do
      fibers { Fiber.schedule { environment.then { |env| 3.times { Powerband::Middleware.new(inner).call(env) } } } }
    end

    assert_equal [3, 0], flight.header.values_at(:written, :in_flight)
  end

  def test_environments_that_cannot_be_written_or_are_no_hash
    app = Powerband::Middleware.new(->(_) { [204, {}, []] })
    flight = record do
      fibers do
        Fiber.schedule { [environment.freeze, Object.new, nil].each { |env| assert_equal 204, app.call(env).first } }
      end
    end

    assert_equal [3, 0, 0], flight.header.values_at(:written, :in_flight, :faults)
  end

  def test_a_job_whose_thread_is_not_its_own_is_not_recorded
    native = Powerband::Native
    job = -> { native.job_start(nil).then { |started| sleep(0.001) && native.job_finish(started, "A", false) } }
    flight = record { fibers { 2.times { Fiber.schedule(&job) } } }

    assert_equal [0, 0], flight.header.values_at(:written, :in_flight)
  end

  # Puma's fiber_per_request makes fibers without a scheduler: the thread's split is the request's.
  def test_a_fiber_without_a_scheduler_is_as_no_fiber
    flight = record { Fiber.new { request { sleep(0.01) && [200, {}, []] } }.resume }

    assert_equal [0, 1], [flight[:flags] & 2, flight[:written]]
    assert_operator flight.records.first[:io_ns], :>=, 10_000_000
  end
end
