# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# Puma's ways of starting and of beginning anew. However a process ended, its file can be read and holds all its requests.
class PumaRestartsTest < Minitest::Test
  def test_a_phased_restart
    flights = PumaServer.run("-w", "2", "-t", "1:2") do |server|
      server.await("both workers") { live(server).size == 2 }
      drive(server)
      before = live(server).map { |f| f[:pid] }
      Process.kill("USR1", server.pid)
      server.await("two new workers") { live(server).reject { |f| before.include?(f[:pid]) }.size == 2 && ended?(before) }
      drive(server)
    end

    assert_equal [4, 41], [flights.size, flights.sum { |f| f[:written] }]
    assert_equal [0, 0, 1, 1], flights.map { |f| f[:worker_index] }.sort
  end

  # The process id and the start time stay; what the process was before is a file of its own.
  def test_a_restart_by_exec
    [[[], 1], [%w[-w 2], 2]].each do |mode, files|
      flights = restarted_by_exec(mode, files)

      assert_equal 42, flights.sum { |f| f[:written] }, mode.inspect
      assert_equal [[server_pid(flights)] * 2], [flights.map { |f| f[:pid] }] if mode.empty?
    end
  end

  def test_rackup_and_its_lint_find_nothing_to_say
    flights = PumaServer.run("-s", "puma", "-E", "development", command: ["rackup"], app: "bodies.ru") do |server|
      assert_equal %w[hello partpart], [server.get("/plain"), server.get("/each")]
      refute_match(/LintError/, server.log)
    end

    assert_equal [[0, 5, 3]], flights.map { |f| f.header.values_at(:server_workers, :server_max_threads, :written) }
  end

  private

  # Puma 6.6, without the agent too, sometimes hangs as it ends (see ServerProcess#stop), and to restart it ends first. Where Ruby
  # notices that, the process dies of it and nothing begins anew: such a start is made once more.
  def restarted_by_exec(mode, files, starts: 3)
    PumaServer.run("-t", "1:2", *mode) do |server|
      server.await("every file") { server.flights.size == files }
      drive(server)
      Process.kill("USR2", server.pid)
      server.await("new files") { server.flights.size == 2 * files && server.get("/boot") }
      drive(server)
    end
  rescue RuntimeError => e
    raise unless e.message.include?("No live threads left. Deadlock?") && (starts -= 1).positive?

    retry
  end

  def live(server)
    server.flights.select { |f| f[:state] == 1 }
  end

  def ended?(pids)
    pids.none? { |pid| File.exist?("/proc/#{pid}") }
  end

  def server_pid(flights)
    flights.first[:pid]
  end

  def drive(server)
    20.times { |n| assert_equal "hello", server.get("/orders/#{n}") }
  end
end
