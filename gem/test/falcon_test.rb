# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# Real Falcon servers: each process loads the application and serves every request in a fiber.
class FalconTest < Minitest::Test
  SETTINGS = %i[server_workers server_min_threads server_max_threads server_preload].freeze
  SERVED = [2, 1, 1, 0].freeze
  FIBERS = 2 # flag of a file whose requests share a thread

  def setup
    skip FalconServer.missing if FalconServer.missing
  end

  def test_injected
    flights = falcon { |server| await_files(server) && drive(server) }
    assert_two_processes(flights)
    assert_recorded(flights)
  end

  def test_middleware_and_injection_count_once
    flights = falcon(app: "with_middleware.ru") { |server| await_files(server) && drive(server) }
    assert_two_processes(flights)
    assert_recorded(flights)
  end

  # No hook was there as the server started: the file appears with the first request, without settings.
  def test_the_middleware_alone
    flights = falcon(app: "with_middleware.ru", env: { "RUBYOPT" => nil }) { |server| drive(server) }

    assert_equal ["falcon"], flights.map { |flight| flight[:server_name] }.uniq
    refute_includes flights.map { |flight| settings(flight) }, SERVED
    assert_recorded(flights)
  end

  def test_an_application_that_raises_answers_as_falcon_would
    flights = falcon { |server| assert_match(/RuntimeError/, server.get("/raise")) }
    raised = flights.flat_map(&:records).find { |r| r[:flags] & 2 == 2 }

    assert_equal 0, raised[:status]
  end

  private

  def falcon(app: "hello.ru", **, &)
    FalconServer.run("--count", "2", app:, **, &)
  end

  def await_files(server)
    server.await("2 files") { server.flights.count { |f| f[:state] == 1 } == 2 }
  end

  def drive(server)
    20.times { |n| assert_equal "hello", server.get("/orders/#{n}") }
  end

  def settings(flight)
    flight.header.values_at(*SETTINGS)
  end

  def assert_two_processes(flights)
    assert_equal [SERVED] * 2, flights.map { |flight| settings(flight) }
    flights.each { |flight| assert_match(/\Afalcon \d+\.\d+/, flight[:server_name]) }
  end

  def assert_recorded(flights)
    recorded = flights.flat_map { |flight| flight.endpoints.drop(1) }.group_by(&:name)
    counted = recorded.transform_values { |entries| entries.sum { |entry| entry.counters[:requests] } }

    assert_equal({ "GET /boot" => 1, "GET /orders/:id" => 20 }, counted)
    assert_equal [0, 0], [flights.sum { |f| f[:faults] }, flights.sum { |f| f[:in_flight] }]
    flights.select { |flight| flight[:written].positive? }.each { |flight| assert_equal FIBERS, flight[:flags] & FIBERS }
  end
end
