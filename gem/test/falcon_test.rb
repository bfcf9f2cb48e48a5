# frozen_string_literal: true

require "test_helper"
require "support/server_process"
require "support/two_workers"

# Real Falcon servers: each process loads the application and serves every request in a fiber.
class FalconTest < Minitest::Test
  include TwoWorkers

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
    refute_includes flights.map { |flight| flight.header.values_at(*SETTINGS) }, SERVED
    assert_recorded(flights)
  end

  def test_an_application_that_raises_answers_as_falcon_would
    flights = falcon { |server| assert_match(/RuntimeError/, server.get("/raise")) }
    assert_raised(flights)
  end

  private

  def falcon(app: "hello.ru", **, &)
    FalconServer.run("--count", "2", app:, **, &)
  end

  def assert_two_processes(flights)
    assert_equal 2, flights.size
    assert_settings(flights, "falcon", SERVED)
  end

  def assert_recorded(flights)
    assert_equal [["GET /boot", 1], ["GET /orders/:id", 20]], endpoints(flights)
    assert_nothing_open(flights)
    flights.select { |flight| flight[:written].positive? }.each { |flight| assert_equal FIBERS, flight[:flags] & FIBERS }
  end
end
