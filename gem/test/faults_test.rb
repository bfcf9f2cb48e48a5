# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# Whatever of ours fails, at start or at a request: each request is served once and unharmed, and we say so once.
class FaultsTest < Minitest::Test
  # What breaks, whether there is a flight file to count it in, and which requests are still recorded.
  POINTS = {
    "PumaHooks.launchers?" => [false, 0], "PumaHooks.mark" => [false, 0], "PumaHooks.settings" => [true, 4],
    "Wrapping.define" => [true, 4], "Recorder.settings" => [false, 0], "Recorder.framework" => [false, 0],
    "Recorder.clean_up" => [true, 4], "Recorder.close_at_exit" => [true, 4], "Retention#sweep" => [true, 4],
    "Native.open" => [false, 0], "Native.start" => [true, 0], "Native.finish" => [true, 0], "Native.path" => [false, 0],
    "Native.server_start" => [true, 4], "Native.server_finish" => [true, nil]
  }.freeze

  POINTS.each do |point, (counted, recorded)|
    define_method(:"test_#{point}") do
      log = nil
      flights = PumaServer.run("-t", "1:1", app: "counts.ru", env: broken(point)) do |server|
        assert_equal %w[2 3 4], Array.new(3) { server.get("/") }
        log = server.log
      end

      assert_equal 1, log.scan(/^powerband: .*: TypeError: #{Regexp.escape(point)} broke on purpose$/).size, log
      assert_equal 1, log.scan("powerband:").size, log
      assert_operator flights.sum { |f| f[:faults] }, :>=, 1 if counted
      assert_equal recorded, flights.sum { |f| f[:written] } if recorded
    end
  end

  def test_what_breaks_in_a_cluster_and_in_unicorn
    log = nil
    PumaServer.run("-w", "2", "-t", "1:1", env: broken("PumaHooks.worker_index,Native.finish")) do |server|
      20.times { assert_equal "hello", server.get("/") }
      log = server.log
    end
    assert_operator log.scan("powerband:").size, :<=, 4, log

    UnicornServer.run(env: broken("UnicornHooks.settings,UnicornHooks.mark")) do |server|
      3.times { assert_equal "hello", server.get("/") }
      assert_equal 2, server.log.scan("powerband:").size, server.log
    end
  end

  def test_a_full_disk
    on_a_small_disk("size=1m") do |disk|
      log = nil
      flights = PumaServer.run("-w", "2", "-t", "1:1", env: { "POWERBAND_DIR" => disk }) do |server|
        8.times { assert_equal "hello", server.get("/") }
        log = server.await("both workers' word") { server.log if server.log.scan("powerband:").size == 2 }
        assert_equal({ "ENOSPC" => 2 }, Powerband::Unrecorded.by_reason(File.join(disk, Process.uid.to_s)))
      end

      assert_equal 2, log.scan(/nothing is recorded in process \d+: RuntimeError: cannot map \d+ bytes in #{disk}: No space/).size
      assert_empty flights
      assert_empty Dir[File.join(disk, "**/*.flight")], "nothing half made is left"
    end
  end

  # The root and the user's folder take two; a flight file or a marker would be the third.
  def test_a_disk_without_inodes
    on_a_small_disk("nr_inodes=2") do |disk|
      folder = File.join(disk, Process.uid.to_s)
      log = nil
      PumaServer.run("-w", "2", "-t", "1:1", env: { "POWERBAND_DIR" => disk }) do |server|
        8.times { assert_equal "hello", server.get("/") }
        log = server.await("both workers' word") { server.log if server.log.scan("powerband:").size == 2 }
        assert_equal [{}, []], [Powerband::Unrecorded.by_reason(folder), Dir.children(folder)]
      end

      said = /nothing is recorded in process \d+: RuntimeError: cannot create \S+ in #{disk}: No space/
      assert_equal 2, log.scan(said).size, log
    end
  end

  def test_a_folder_that_vanishes_while_the_server_runs
    PumaServer.run("-w", "2", "-t", "1:1") do |server|
      server.await("both workers") { server.flights.size == 2 }
      victim = server.flights.first[:pid]
      FileUtils.rm_r(File.join(server.root, "flight"))
      8.times { assert_equal "hello", server.get("/") }
      Process.kill("KILL", victim)
      server.await("a file in a new folder") { server.flights.size == 1 }
      refute_includes server.log, "powerband:"
    end
  end

  private

  def broken(points)
    { "BROKEN" => points, "RUBYOPT" => "-r#{File.join(__dir__, 'support/broken.rb')}" }
  end

  def on_a_small_disk(limit)
    skip "only root mounts a small disk to fill" unless Process.uid.zero?

    Dir.mktmpdir do |folder|
      skip "this machine mounts nothing" unless system("mount", "-t", "tmpfs", "-o", limit, "tmpfs", folder, err: File::NULL)
      begin
        yield folder
      ensure
        system("umount", folder, exception: true)
      end
    end
  end
end
