# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/servers"

# `powerband run -- CMD`: the agent inside servers that do not know it, nothing of theirs changed.
class InjectTest < PowerbandTest
  parallelize_me!

  include Servers

  def test_a_plain_rack_application
    ended = nil
    5.times do
      site = puma(File.join(APPS, "hello"), before: injected)
      3.times { assert_equal "200", site.get("/").code }
      assert_recorded(/GET/)
      ended = stop(site, :INT)
      break unless deadlocked?(ended) || ended.status.termsig == Signal.list["KILL"]
    end
    # Puma ends by itself at Ctrl-C: what powerband became passes it on untouched.
    assert_includes [0, 128 + 2], ended.code || (128 + ended.status.termsig), ended.to_s
    assert_empty ended.err.lines.grep(/panicked/)
  end

  def test_redmine_as_it_is_installed
    site = redmine(before: injected)
    assert_equal "200", site.get("/projects").code
    assert_recorded(/projects#index/)
    stop(site)
  end

  def test_the_exit_code_is_the_commands
    ended = powerband("run", "--flight-dir", flight_dir, "--", "sh", "-c", "exit 7")
    assert_equal 7, ended.code, ended.to_s
  end

  def test_a_signal_ends_the_command_itself
    started = start(BINARY, "run", "--flight-dir", flight_dir, "--", "sleep", "300")
    await("the command", of: started) { marked_like(/\A\d+ sleep 300\z/).any? }
    assert_equal [started.pid], marked, "the command takes powerband's place"
    started.signal(:TERM)
    assert_equal Signal.list["TERM"], finish(started).status.termsig
  end

  def test_the_agent_is_in_the_environment_and_output_is_the_commands_own
    ended = powerband("run", "--flight-dir", flight_dir, "--", "ruby", "-e", "print defined?(Powerband).inspect, ARGV", "a b")
    assert_equal 0, ended.code, ended.to_s
    assert_equal '"constant"["a b"]', ended.out
  end

  def test_a_command_that_is_not_there
    ended = powerband("run", "--", "no-such-server")
    assert_refused ended, 2, /no-such-server cannot be started/, /on PATH/
  end

  def test_no_command
    ended = powerband("run")
    assert_equal 2, ended.code
    assert_match(/CMD/, ended.err)
  end

  private

  def flight_dir
    File.join(@dir, "flight")
  end

  def injected
    [BINARY, "run", "--flight-dir", flight_dir, "--"]
  end

  # The contract's file, private to its owner, with the endpoint's name in its table.
  def assert_recorded(endpoint)
    files = Dir[File.join(flight_dir, "**/*")].select { |path| File.file?(path) }
    refute_empty files
    assert_equal [0o600], files.map { |path| File.stat(path).mode & 0o777 }.uniq
    await("#{endpoint.inspect} in #{files}") { files.any? { |path| File.binread(path).match?(endpoint) } }
  end
end
