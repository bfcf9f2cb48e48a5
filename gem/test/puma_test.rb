# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# Real Puma servers that know nothing of the agent.
class PumaTest < Minitest::Test
  SETTINGS = %i[server_workers server_min_threads server_max_threads server_preload].freeze

  def drive(server, count: 40)
    Array.new(4) { Thread.new { (count / 4).times { |n| assert_equal "hello", server.get("/orders/#{n}") } } }.each(&:join)
  end

  def assert_cluster(flights, workers: 2, preload: 0)
    assert_equal (0...workers).to_a, flights.map { |f| f[:worker_index] }.sort
    flights.each { |f| assert_equal [workers, 1, 3, preload], f.header.values_at(*SETTINGS) }
    assert_closed(flights)
    assert_equal 1, flights.map { |f| f[:parent_pid] }.uniq.size
    assert_equal 41, flights.sum { |f| f[:written] }
    assert_equal 0, flights.sum { |f| f[:faults] + f[:in_flight] }
  end

  def assert_closed(flights)
    assert_equal [2], flights.map { |f| f[:state] }.uniq if PumaServer.last_end_orderly
  end

  def test_single_mode
    flights = PumaServer.run("-t", "1:3") do |server|
      assert_equal 1, server.flights.size
      drive(server)
    end
    flight = flights.first

    assert_equal 1, flights.size
    assert_equal [0, 1, 3, 0], flight.header.values_at(*SETTINGS)
    assert_equal [-1, 41, 0], flight.header.values_at(:worker_index, :written, :in_flight)
    assert_closed(flights)
    assert_match(/\Apuma \d+\.\d+/, flight[:server_name])
    assert_equal [["GET /boot", 1], ["GET /orders/:id", 40]],
                 flight.endpoints.drop(1).map { |e| [e.name, e.counters[:requests]] }.sort
  end

  def test_cluster_and_idle_workers_can_be_read_back
    flights = PumaServer.run("-w", "2", "-t", "1:3", *PumaServer::NO_PRELOAD) do |server|
      server.await("two files") { server.flights.size == 2 }
      assert_equal [1], server.flights.map { |f| f[:state] }.uniq
      drive(server)
    end

    assert_cluster(flights)
  end

  def test_cluster_with_preload
    assert_cluster(PumaServer.run("-w", "2", "-t", "1:3", "--preload") { |s| ready(s) && drive(s) }, preload: 1)
  end

  def test_cluster_whose_workers_fork_workers
    flights = PumaServer.run("-w", "2", "-t", "1:3", "--fork-worker") { |server| ready(server) && drive(server) }

    assert_equal [0, 1], flights.map { |f| f[:worker_index] }.sort
    assert_equal 41, flights.sum { |f| f[:written] }
    assert_equal [29], flights.map { |f| f[:flags] }.uniq
  end

  def test_a_refork_makes_files_of_their_own
    flights = PumaServer.run("-w", "2", "-t", "1:3", "--fork-worker") do |server|
      ready(server)
      before = server.flights.map { |f| f[:pid] }
      Process.kill("SIGURG", server.pid)
      fresh = server.await("a worker forked anew") { server.flights.reject { |f| before.include?(f[:pid]) }.first }
      assert_equal 1, fresh[:worker_index]
      server.await("an answer of the new worker") do
        drive(server) && server.flights.find do |f|
                           f[:pid] == fresh[:pid]
                         end[:written].positive?
      end
    end

    assert_equal 3, flights.size
    assert_equal 0, flights.sum { |f| f[:in_flight] }
  end

  def test_the_control_application_is_not_measured
    flights = PumaServer.run("-w", "2", "-t", "1:3", *PumaServer::NO_PRELOAD, "--control-url", "tcp://127.0.0.1:0",
                             "--control-token", "x") do |server|
      ready(server)
      drive(server)
    end

    assert_cluster(flights)
  end

  def test_a_second_server_in_the_process_is_not_the_one_described
    [[], ["-w", "1"]].each do |mode|
      flights = PumaServer.run("-t", "1:3", *mode, app: "with_metrics.ru") do |server|
        metrics = server.get("/port").to_i
        5.times { assert_equal "metrics", Net::HTTP.get(URI("http://127.0.0.1:#{metrics}/metrics")) }
      end

      assert_equal [[3, 2]], flights.map { |f| f.header.values_at(:server_max_threads, :written) }
    end
  end

  def test_a_file_outlives_a_worker_that_was_killed
    PumaServer.run("-w", "2", "-t", "1:3") do |server|
      ready(server)
      drive(server)
      server.await_records
      victim = server.flights.max_by { |f| f[:written] }
      Process.kill("KILL", victim[:pid])
      server.await("a worker in its place") { server.flights.size == 3 }
      dead = server.flights.find { |f| f[:pid] == victim[:pid] }

      assert_equal [1, victim[:written]], dead.header.values_at(:state, :written)
      assert_equal victim[:written], dead.records.size
      assert_equal 2, server.flights.count { |f| f[:worker_index] == victim[:worker_index] }
    end
  end

  def test_a_folder_that_cannot_be_written_stops_nothing
    server = nil
    flights = PumaServer.run("-w", "2", "-t", "1:3", env: { "POWERBAND_DIR" => "/proc/nowhere" }) do |s|
      server = s
      drive(server)
      server.await("the word") { server.log.scan("powerband:").size == 2 }
      assert_match(%r{nothing is recorded in process \d+: RuntimeError: cannot make /proc/nowhere}, server.log)
    end

    assert_empty flights
  end

  def test_an_application_that_raises_still_answers_as_puma_would
    flights = PumaServer.run("-t", "1:3") do |server|
      assert_match(/Puma caught this error: on purpose/, server.get("/raise"))
    end
    raised = flights.first.records.find { |r| r[:flags] & 2 == 2 }

    assert_equal 0, raised[:status]
    assert_equal 1, flights.first.totals[:server_errors]
  end

  def test_queue_time_from_a_proxy
    flights = PumaServer.run("-t", "1:3") do |server|
      server.get("/q", "X-Request-Start" => format("t=%.3f", Time.now.to_f - 3))
    end
    record = flights.first.records.find { |r| r[:flags] & 1 == 1 }

    assert_operator record[:queue_ns], :>=, 2_990_000_000
  end

  def test_plugin_and_middleware_and_injection_together_count_once
    Dir.mktmpdir do |folder|
      config = File.join(folder, "puma.rb")
      File.write(config, "plugin :powerband\nthreads 1, 3\nworkers 2\n")
      [Processes.injected("x").slice("RUBYLIB"), Processes.injected("x").slice("RUBYLIB", "RUBYOPT")].each do |env|
        flights = PumaServer.run("-C", config, app: "with_middleware.ru", env: { "RUBYOPT" => nil }.merge(env)) do |server|
          ready(server) && drive(server)
        end
        assert_cluster(flights, preload: flights.first[:server_preload])
      end
    end
  end

  def test_middleware_alone_knows_the_server_that_it_is_in
    [[[], [[0, 3, -1]]], [%w[-w 2], [[2, 3, 0], [2, 3, 1]]]].each do |mode, expected|
      flights = PumaServer.run("-t", "1:3", *mode, app: "with_middleware.ru", env: { "RUBYOPT" => nil }) do |server|
        server.await("every file") { server.flights.size == expected.size }
        drive(server)
      end

      assert_equal expected, flights.map { |f| f.header.values_at(:server_workers, :server_max_threads, :worker_index) }.sort
      assert_equal 41, flights.sum { |f| f[:written] }
    end
  end

  private

  def ready(server)
    server.await("both workers") { server.flights.count { |f| f[:state] == 1 } == 2 }
  end
end
