# frozen_string_literal: true

# Requests to a real server with two processes, and what their flight files then hold.
module TwoWorkers
  SETTINGS = %i[server_workers server_min_threads server_max_threads server_preload].freeze
  RAISED = 2 # flag of a record whose application raised

  private

  # A server of this class that is configured by a file.
  def configured(server, config, **options, &)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, "worker_processes 2\n#{config}")
      return server.run("-c", file, **options, &)
    end
  end

  def drive(server, count: 20)
    count.times { |n| assert_equal "hello", server.get("/orders/#{n}") }
  end

  def await_files(server, count = 2)
    server.await("#{count} files") { server.flights.count { |f| f[:state] == 1 } == count }
  end

  def assert_two_workers(flights, name, preload:)
    assert_equal [0, 1], flights.map { |f| f[:worker_index] }.sort
    assert_settings(flights, name, [2, 1, 1, preload])
    assert_equal 21, flights.sum { |f| f[:written] }
    assert_nothing_open(flights)
  end

  def assert_settings(flights, name, settings)
    flights.each do |flight|
      assert_equal settings, flight.header.values_at(*SETTINGS)
      assert_match(/\A#{name} \d+\.\d+/, flight[:server_name])
    end
  end

  def assert_nothing_open(flights)
    assert_equal 0, flights.sum { |f| f[:faults] + f[:in_flight] }
  end

  def assert_raised(flights)
    raised = flights.flat_map(&:records).find { |r| r[:flags] & RAISED == RAISED }

    assert_equal 0, raised[:status]
  end

  def endpoints(flights)
    flights.flat_map { |f| f.endpoints.drop(1) }.group_by(&:name)
           .map { |name, entries| [name, entries.sum { |e| e.counters[:requests] }] }.sort
  end
end
