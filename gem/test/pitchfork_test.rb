# frozen_string_literal: true

require "test_helper"
require "support/server_process"
require "support/two_workers"

# Real Pitchfork servers: a process that has loaded the application, the mold, forks the workers, and a worker can become the
# next mold.
class PitchforkTest < Minitest::Test
  include TwoWorkers

  SPANS = 16 # flag of a record whose parse and write times are known

  def setup
    skip PitchforkServer.missing if PitchforkServer.missing
  end

  def test_injected
    flights = pitchfork { |server| await_files(server) && drive(server) }
    assert_two_molded(flights)
    assert_equal [["GET /boot", 1], ["GET /orders/:id", 20]], endpoints(flights)
  end

  def test_the_middleware_alone
    assert_two_molded(pitchfork(app: "with_middleware.ru", env: { "RUBYOPT" => nil }) { |s| await_files(s) && drive(s) })
  end

  def test_middleware_and_injection_count_once
    assert_two_molded(pitchfork(app: "with_middleware.ru") { |s| await_files(s) && drive(s) })
  end

  # Neither the mold nor a process of its service has a file.
  def test_a_process_that_serves_nothing_has_no_file
    flights = pitchfork("before_service_worker_ready { |_server, _service| nil }\n") do |server|
      server.await("the service") { server.log.include?("service gen=0") }
      await_files(server)
      drive(server)
    end
    assert_two_molded(flights)
  end

  def test_parsing_and_writing_are_measured
    flights = pitchfork { |server| drive(server) }
    records = flights.flat_map(&:records)

    assert_equal [SPANS] * 21, records.map { |record| record[:flags] & SPANS }
  end

  # Each worker has its requests on record, those of a generation that is gone too.
  def test_workers_of_the_next_generation_have_files
    flights = pitchfork("refork_after [5, false]\nrefork_max_unavailable 1\n") do |server|
      await_files(server)
      20.times { server.get("/orders/1") }
      server.await("workers of the next generation") do
        later = server.flights.select { |flight| flight[:state] == 1 }
        later.size == 2 && server.flights.size == 4
      end
      drive(server)
    end

    assert_equal [0, 0, 1, 1], flights.map { |flight| flight[:worker_index] }.sort
    assert_equal 41, flights.sum { |flight| flight[:written] }
    assert_nothing_open(flights)
  end

  def test_an_application_that_raises_answers_as_pitchfork_would
    flights = pitchfork(env: { "RACK_ENV" => "none" }) { |server| assert_empty server.get("/raise") }
    assert_raised(flights)
  end

  private

  def pitchfork(config = "", **, &)
    configured(PitchforkServer, config, **, &)
  end

  def assert_two_molded(flights)
    assert_two_workers(flights, "pitchfork", preload: 1)
  end
end
