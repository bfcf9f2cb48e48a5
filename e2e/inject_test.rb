# frozen_string_literal: true

require "net/http"
require "socket"
require_relative "support/powerband"

# `powerband run -- CMD`: the agent inside servers that do not know it, nothing of theirs changed.
class InjectTest < PowerbandTest
  def test_a_plain_rack_application
    serving(File.join(APPS, "hello")) do |port, started|
      3.times { assert_equal "200", get(port, "/").code }
      assert_recorded(/GET/)
      started.signal(:INT)
      ended = finish(started)
      # Puma ends by itself at Ctrl-C: what powerband became passes it on untouched.
      assert_includes [0, 128 + 2], ended.code || (128 + ended.status.termsig), ended.to_s
      assert_empty ended.err.lines.grep(/panicked/)
    end
  end

  def test_redmine_as_it_is_installed
    environment = seeded_redmine
    serving("/usr/share/redmine", "-e", "production", env: environment, boot: 120) do |port, started|
      assert_equal "200", get(port, "/projects").code
      assert_recorded(/projects#index/)
      started.signal(:TERM)
      finish(started)
    end
  end

  def test_the_exit_code_is_the_commands
    ended = powerband("run", "--flight-dir", flight_dir, "--", "sh", "-c", "exit 7")
    assert_equal 7, ended.code, ended.to_s
  end

  def test_a_signal_ends_the_command_itself
    started = start(BINARY, "run", "--flight-dir", flight_dir, "--", "sleep", "300")
    await("the command") { marked_like(/\A\d+ sleep 300\z/).any? }
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

  def serving(folder, *flags, env: {}, boot: 60)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    command = [BINARY, "run", "--flight-dir", flight_dir, "--", "puma", *flags, "-b", "tcp://127.0.0.1:#{port}", "-t", "2:2"]
    started = start(*command, chdir: folder, env: env)
    await("the server; so far:\n#{started.out}#{started.err}", within: boot) { answers?(port) }
    yield port, started
  end

  def answers?(port)
    TCPSocket.open("127.0.0.1", port).close
    true
  rescue SystemCallError
    false
  end

  def get(port, path)
    Net::HTTP.get_response(URI("http://127.0.0.1:#{port}#{path}"))
  end

  # The contract's file, private to its owner, with the endpoint's name in its table.
  def assert_recorded(endpoint)
    files = Dir[File.join(flight_dir, "**/*")].select { |path| File.file?(path) }
    refute_empty files
    assert_equal [0o600], files.map { |path| File.stat(path).mode & 0o777 }.uniq
    await("#{endpoint.inspect} in #{files}") { files.any? { |path| File.binread(path).match?(endpoint) } }
  end

  def seeded_redmine
    ended = finish(start(File.join(ROOT, "e2e/redmine/seed"), File.join(ROOT, "target/e2e/redmine")), within: 300)
    assert_equal 0, ended.code, ended.to_s
    ended.out.lines.to_h { |line| line.chomp.split("=", 2) }
  end
end
