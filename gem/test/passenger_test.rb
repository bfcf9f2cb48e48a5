# frozen_string_literal: true

require "test_helper"
require "support/passenger_server"

# Passenger under an Apache of our own: forked from a preloader (smart) and started directly.
class PassengerTest < Minitest::Test
  LIBRARY = { "RUBYLIB" => File.join(GEM_ROOT, "lib") }.freeze
  INJECTED = LIBRARY.merge("RUBYOPT" => "-rpowerband/inject").freeze
  SETTINGS = %i[server_min_threads server_max_threads server_preload server_workers].freeze

  def setup
    skip PassengerServer.missing if PassengerServer.missing
  end

  # Every process has its file before it has had a request.
  def serve(preload:, **options)
    flights = PassengerServer.run(directives: "PassengerSpawnMethod #{preload == 1 ? 'smart' : 'direct'}", **options) do |server|
      server.await("two files") { server.flights.count { |f| f[:state] == 1 } == 2 }
      20.times { |n| assert_equal "hello", server.get("/orders/#{n}") }
      yield server if block_given?
    end
    assert_equal [[1, 1, preload, FlightReader::UNKNOWN]], flights.map { |f| f.header.values_at(*SETTINGS) }.uniq
    assert_equal 0, flights.sum { |f| f[:faults] + f[:in_flight] }
    flights.each { |f| assert_match(/\Apassenger \d+\.\d+/, f[:server_name]) }
    assert_equal 20, flights.sum { |f| f.records.count { |r| f.endpoint_of(r) == "GET /orders/:id" } }
    flights
  end

  def test_injected_by_three_lines_of_apaches
    [1, 0].each { |preload| serve(preload:, variables: INJECTED) }
  end

  def test_the_middleware_alone
    [1, 0].each { |preload| serve(preload:, variables: LIBRARY, app: "with_middleware.ru") }
  end

  # The Railtie alone, in a process forked from a preloader.
  def test_a_rails_application_that_has_the_gem
    flights = PassengerServer.run(variables: LIBRARY, app: "rails.ru", processes: 1) do |server|
      assert_equal "item 7", server.get("/items/7")
    end
    record = flights.flat_map(&:records).last

    assert_equal "items#show", flights.last.endpoint_of(record)
    assert_match(/\Arails \d/, flights.last[:framework])
    assert_equal 16, record[:flags] & 16, "its writing is known"
  end

  def test_a_process_that_was_killed_leaves_its_file
    serve(preload: 1, variables: INJECTED) do |server|
      server.await_records
      victim = server.flights.max_by { |f| f[:written] }
      Process.kill("KILL", victim[:pid])
      server.await("a process in its place") { server.get("/again") && server.flights.size == 3 }

      assert_equal victim[:written], server.flights.find { |f| f[:pid] == victim[:pid] }[:written]
    end
  end

  def test_a_folder_that_cannot_be_made_is_said_in_apaches_log_and_hurts_nothing
    PassengerServer.run(variables: INJECTED.merge("POWERBAND_DIR" => "/proc/nowhere"), processes: 1) do |server|
      assert_equal "hello", server.get("/")
      # Passenger's watchdog passes it on to the log some time after the answer.
      message = %r{nothing is recorded in process \d+: RuntimeError: cannot make /proc/nowhere}
      server.await("the message") { message.match?(server.log) }
      assert_equal 1, server.log.scan("powerband:").size
    end
  end
end
