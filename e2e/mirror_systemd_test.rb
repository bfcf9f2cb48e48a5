# frozen_string_literal: true

require "shellwords"
require_relative "support/mirrors"
require_relative "support/pod"
require_relative "support/powerband"
require_relative "support/systemd"

# The units of packaging/systemd: their command, started by systemd's own way to pass a socket, and the units in a systemd of the
# test's own.
class MirrorSystemdTest < PowerbandTest
  include Mirrors

  UNITS = Dir[File.join(ROOT, "packaging/systemd/powerband-mirror.{service,socket}")].freeze

  # The processes of a failed test end in the parent's teardown.
  def teardown
    super
  ensure
    await("the end of systemd's processes") { @systemd.removed? } if @systemd
    @pod&.remove
  end

  def test_systemd_understands_the_units
    lack("systemd-analyze")
    units = UNITS.map do |path|
      text = File.read(path).gsub("/usr/local/bin/powerband", BINARY)
      File.join(@dir, File.basename(path)).tap { |copy| File.write(copy, text) }
    end
    verified = finish(start("systemd-analyze", "verify", *units))
    # Of units of this machine it may complain as well.
    assert_equal [], (verified.out + verified.err).lines.grep(/powerband-mirror/)
  end

  def test_systemd_waits_longer_than_the_mirror_takes_to_end
    service = File.read(UNITS.grep(/service\z/).first)
    assert_match(/--listen systemd:#{File.read(UNITS.grep(/socket\z/).first)[/FileDescriptorName=(.+)/, 1]} /, service)
    assert_operator service[/TimeoutStopSec=(\d+)/, 1].to_i, :>, ENDING.values.sum
    lame_duck, drain, deadline = ENDING.values_at("LAME_DUCK", "DRAIN", "DEADLINE")
    assert_includes service, "lame_duck (#{lame_duck} s), drain (#{drain} s), the shadows' deadline (#{deadline} s)"
  end

  def test_systemd_restarts_a_mirror_whose_proxy_ended_by_itself
    service = File.read(UNITS.grep(/service\z/).first)
    ends = service.scan(/^(?:RestartPrevent|Success)ExitStatus=(.+)/).flatten.flat_map(&:split)
    assert_equal %w[2 3], ends.sort
    code = File.read(File.join(ROOT, "docs/mirror.md"))[/(\d+) the proxy ended by itself/, 1]
    refute_includes [nil, *ends], code
    assert_match(/^StartLimitIntervalSec=0$/, service[/\[Unit\].*?(?=^\[)/m])
  end

  def test_the_services_command_takes_the_socket_and_writes_where_it_starts
    lack("systemd-socket-activate")
    state = File.join(@dir, "state").tap { |path| Dir.mkdir(path) }
    port = free_port
    words = command(configured(puma(File.join(APPS, "hello")).url.chomp("/")))
    listens = socket[/ListenStream=(.+)/, 1].sub(/\d+\z/, port.to_s)
    name = socket[/FileDescriptorName=(.+)/, 1]
    mirror = start("systemd-socket-activate", "--listen", listens, "--fdname", name, *words, chdir: state)
    await("an answer", of: mirror) { listens?(port) && Net::HTTP.get("127.0.0.1", "/", port) == "hello\n" }
    finish(start("sh", "-c", service[/ExecReload=(.+)/, 1], env: { "MAINPID" => mirror.pid.to_s }))
    await("the reload", of: mirror) { mirror.err.include?("the configuration was read again") }
    mirror.signal(:TERM)
    assert_equal 3, finish(mirror).code, "one pair decides nothing"
    assert_path_exists File.join(state, "traffic.pbc")
  end

  # Without any change: paths, port and sandbox are as in the files.
  def test_systemd_runs_the_units_and_restarts_the_mirror_without_a_refused_connection
    lacks = Pod.lacks || Systemd.lacks
    skip lacks if lacks
    @pod = Pod.new
    lacks = @pod.connect
    skip "no network namespace: #{lacks}" if lacks
    with_systemd do |inside|
      await_primary
      assert_succeeds(*inside, "systemctl", "enable", "--now", *UNITS.map { |path| File.basename(path) }.sort)
      assert_sandboxed(inside)
      load = start(*@pod.inside, BINARY, "load", "http://127.0.0.1:8080/", "--rate", "50", "-n", "300", "--json", "--quiet")
      2.times { assert_succeeds(*inside, "systemctl", "restart", "powerband-mirror.service") }
      assert_served(finish(load), 300)
      assert_succeeds(*inside, "systemctl", "reload", "powerband-mirror.service")
      assert_succeeds(*inside, "systemctl", "stop", *UNITS.map { |path| File.basename(path) })
      assert_equal "success", shown(inside, "Result")
    end
    assert_equal 0o600, File.stat(File.join(@dir, "var/private/powerband-mirror/traffic.pbc")).mode & 0o777
  end

  private

  def service = File.read(UNITS.grep(/service\z/).first)
  def socket = File.read(UNITS.grep(/socket\z/).first)

  # As the unit starts it, but for where the binary and the configuration are.
  def command(config)
    words = service[/ExecStart=(.+)/, 1].shellsplit
    assert_equal ["/usr/local/bin/powerband", "/etc/powerband/mirror.toml"], words.values_at(0, -1)
    [BINARY, *words[1..-2], config]
  end

  def configured(primary)
    text = "primary = \"#{primary}\"\nrecord = \"traffic.pbc\"\n[shadow.same]\nurl = \"#{primary}\"\n"
    File.join(@dir, "mirror.toml").tap { |path| File.write(path, text) }
  end

  # Puma where the configuration says, and at an address at which this machine sees it.
  def await_primary
    binds = ["127.0.0.1", @pod.address].flat_map { |address| ["-b", "tcp://#{address}:3000"] }
    started = start(*@pod.inside, "puma", *binds, "-t", "2:2", chdir: File.join(APPS, "hello"))
    await("Puma to listen", of: started) do
      TCPSocket.new(@pod.address, 3000).close.nil?
    rescue SystemCallError
      nil
    end
  end

  # Yields the words before those of a command in it.
  def with_systemd
    root, var = %w[root var].map { |name| File.join(@dir, name).tap { |path| Dir.mkdir(path) } }
    config = configured("http://127.0.0.1:3000")
    files = { "/usr/local/bin/powerband" => [BINARY, "ro"], "/etc/powerband/mirror.toml" => [config, "ro"],
              "/var/lib" => [var, "rw"] }
    @systemd = Systemd.new(root, units: UNITS, files:)
    started = start(*@systemd.command(@pod.inside))
    await("systemd to start", of: started) { running?(Systemd.inside(started)) }
    yield Systemd.inside(started)
    Process.kill(:KILL, Container.process(started))
    finish(started)
  end

  def running?(inside)
    finish(start(*inside, "systemctl", "is-active", "multi-user.target")).out == "active\n" if inside
  end

  def assert_succeeds(*words)
    finish(start(*words)).tap { |ended| assert_equal 0, ended.code, ended.to_s }
  end

  def shown(inside, property)
    assert_succeeds(*inside, "systemctl", "show", "--value", "-p", property, "powerband-mirror.service").out.chomp
  end

  # A separate user without capabilities, a filter of system calls, and read-only files.
  def assert_sandboxed(inside)
    pid = shown(inside, "MainPID")
    status = assert_succeeds(*inside, "cat", "/proc/#{pid}/status").out
    assert_operator status[/^Uid:\s+(\d+)/, 1].to_i, :>, 0
    assert_equal [0, 1, 2], %w[CapBnd NoNewPrivs Seccomp].map { |name| status[/^#{name}:\s+(\h+)$/, 1].hex }
    mounts = assert_succeeds(*inside, "cat", "/proc/#{pid}/mounts").out.lines.map(&:split)
    assert_match(/\bro\b/, mounts.reverse.find { |words| words[1] == "/" }[3])
  end

  def assert_served(ended, requests)
    counts = JSON.parse(ended.out)
    assert_equal({ "200" => requests }, counts["statuses"], ended.to_s)
    assert_equal [requests, 0], counts["counts"].values_at("answered", "failed")
  end

  def lack(program)
    found = ENV["PATH"].split(":").any? { |folder| File.executable?(File.join(folder, program)) }
    skip "#{program} is not installed: it is in Debian's package systemd" unless found
  end
end
