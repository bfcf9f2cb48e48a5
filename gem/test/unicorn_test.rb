# frozen_string_literal: true

require "test_helper"
require "support/server_process"
require "support/two_workers"

# Real Unicorn servers: one thread a worker, the application built in the worker unless it is preloaded.
class UnicornTest < Minitest::Test
  include TwoWorkers

  def test_injected_with_and_without_preload
    [0, 1].each do |preload|
      flights = unicorn("preload_app #{preload == 1}\n") { |server| await_files(server) && drive(server) }
      assert_two_workers(flights, "unicorn", preload:)
      assert_equal [["GET /boot", 1], ["GET /orders/:id", 20]], endpoints(flights)
    end
  end

  def test_the_middleware_alone_with_and_without_preload
    [0, 1].each do |preload|
      flights = unicorn("preload_app #{preload == 1}\n", app: "with_middleware.ru", env: { "RUBYOPT" => nil }) do |server|
        await_files(server) && drive(server)
      end
      assert_two_workers(flights, "unicorn", preload:)
    end
  end

  def test_middleware_and_injection_count_once
    flights = unicorn("", app: "with_middleware.ru") { |s| await_files(s) && drive(s) }
    assert_two_workers(flights, "unicorn", preload: 0)
  end

  def test_a_worker_that_was_killed_leaves_its_file_and_a_reload_makes_new_ones
    unicorn("preload_app true\n") do |server|
      await_files(server)
      drive(server)
      server.await_records
      victim = server.flights.max_by { |f| f[:written] }
      Process.kill("KILL", victim[:pid])
      server.await("a worker in its place") { server.flights.size == 3 }
      Process.kill("HUP", server.pid)
      server.await("new workers") { server.flights.size == 5 }
      drive(server)

      assert_equal victim[:written], server.flights.find { |f| f[:pid] == victim[:pid] }[:written]
      assert_equal 41, server.flights.sum { |f| f[:written] }
      assert_equal 3, server.flights.count { |f| f[:worker_index] == victim[:worker_index] }
    end
  end

  def test_an_application_that_raises_answers_as_unicorn_would
    flights = unicorn("", env: { "RACK_ENV" => "none" }) { |server| assert_empty server.get("/raise") }
    assert_raised(flights)
  end

  private

  def unicorn(config, **, &)
    configured(UnicornServer, config, **, &)
  end
end
