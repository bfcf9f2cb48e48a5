# frozen_string_literal: true

require "etc"
require_relative "support/container"
require_relative "support/control_group"
require_relative "support/manifests"
require_relative "support/mirrors"
require_relative "support/pod"
require_relative "support/powerband"

# The manifests of docs/kubernetes.md in namespaces and control groups of the test's own: their arguments, their user, their
# volumes, their memory limits, and a read-only root.
class MirrorPodTest < PowerbandTest
  include Manifests
  include Mirrors

  # As the kernel writes it in /proc/net/tcp.
  ESTABLISHED = "01"

  def setup
    super
    lacks = Pod.lacks || Container.lacks
    skip lacks if lacks
    @pod = Pod.new
    lacks = @pod.connect
    skip "no network namespace: #{lacks}" if lacks
  end

  # The processes of a failed test end in the parent's teardown.
  def teardown
    super
  ensure
    @groups&.each(&:remove)
    @pod&.remove
  end

  def test_the_sidecar_serves_until_nobody_asks_it
    serve_and_end(*mirrors.first)
  end

  def test_the_mirror_in_front_of_a_service_serves_and_records_until_nobody_asks_it
    container = serve_and_end(*mirrors.last)
    recording = File.join(volume, File.basename(flags(container).fetch("record")))
    assert_equal [Container::ID, 0o600], File.stat(recording).then { |file| [file.uid, file.mode & 0o777] }
    info = powerband("capture", "info", recording, "--json")
    assert_operator JSON.parse(info.out).fetch("requests"), :>, 0
  end

  def test_clients_that_send_large_heads_take_less_memory_than_the_limit
    lacks = ControlGroup.lacks
    skip lacks if lacks
    raising_files(4096) { mirrors.each { |_, container| hold_heads(container) } }
  end

  def test_another_container_reads_what_the_agent_records
    serve_recorded(*agent_command, stopped_by: :KILL, state: "died")
    files = flight_files.map { |path| File.stat(path) }
    assert_equal [[Container::ID, 0o600]], files.map { |file| [file.uid, file.mode & 0o777] }.uniq
  end

  # Without a cluster: where the second SIGTERM that a master of Puma sends to a worker reaches it in `IO#close`, the worker hangs
  # until its master kills it.
  def test_another_container_reads_that_a_server_ended
    command, workers = agent_command
    serve_recorded(command - ["-w", workers.to_s], 1, stopped_by: :TERM, state: "closed")
  end

  private

  # The manifest's, and the number of processes that it starts to serve.
  def agent_command
    command = agent["containers"].first["command"]
    [command, command.each_cons(2).to_h.fetch("-w").to_i]
  end

  # A server in the manifest's container with the agent, and its processes as another container of the pod sees them.
  def serve_recorded(command, processes, stopped_by:, state:)
    app = agent["containers"].first
    env = app["env"].to_h { |one| one.values_at("name", "value") }
    inside = container(app).inside(chdir: "#{Container::APPS}/hello")
    server = start(*@pod.inside, *inside, Container::BINARY, "run", "--", *command, env:)
    await("an answer of Puma", of: server) { code("/", 9292) == "200" }
    await("a file of each process", of: server) { flight_files.size == processes }
    assert_equal %w[live] * processes, states(app, env)
    stop_contained(server, stopped_by)
    assert_equal [state] * processes, states(app, env)
  end

  # The mirror with exactly the manifest's arguments, as the kubelet and a client outside of the pod see it.
  def serve_and_end(manifest, container)
    app = application
    mirror = contained(container)
    await("an answer through the pod", of: app) { code("/", 8080) == "200" }
    assert_equal Container::ID, File.stat("/proc/#{Container.process(mirror)}").uid
    Process.kill(:TERM, Container.process(mirror))
    seen = []
    await("the end", within: manifest["terminationGracePeriodSeconds"]) do
      seen << [code("/readyz", 9400), code("/", 8080)]
      mirror.status
    end
    assert_includes seen, %w[503 200]
    # Before the lame duck is over every client is served.
    assert_equal %w[200], seen.map(&:last).take_while { |code| code }.uniq
    assert_includes [0, 3], finish(mirror).code, mirror.err
    container
  end

  # Every client but one sends the largest head that it may, but for its end.
  def hold_heads(container)
    limit = bytes(container.dig("resources", "limits", "memory"))
    group = ControlGroup.new(cores: Etc.nprocessors, memory_bytes: limit).tap { |made| (@groups ||= []) << made }
    mirror = contained(container, before: group.inside)
    flags = flags(container)
    head = "GET / HTTP/1.1\r\nHost: a\r\nX: ".ljust((64 << 10) * (flags["strictness"] == "report" ? 4 : 1) - 1, "x")
    clients = Array.new(flags.fetch("connections").to_i - 1) do
      TCPSocket.new(@pod.address, 8080).tap { |client| client.write(head) }
    end
    process = Container.process(mirror)
    await("every head to be read", of: mirror) { queued("self", :sent).zero? && queued(process, :received).zero? }
    assert_operator group.anonymous_bytes, :>, clients.size * head.bytesize
    assert_operator group.anonymous_bytes, :<, limit
    # Nobody listens at the primary, and the last client learns it.
    assert_equal ["502", 0], [code("/", 8080), group.killed_for_memory]
  rescue SystemCallError => e
    flunk "#{e.message}; #{group.killed_for_memory} processes were killed at the memory limit: #{mirror}"
  ensure
    clients&.each(&:close)
    stop_contained(mirror, :KILL) if mirror
  end

  # Bytes that one end of the connections to the mirror has sent and the other end has not taken, or received and not read.
  # Connections that clients of an earlier pod have closed are no more established.
  def queued(process, which)
    end_of_mirror, queue = which == :sent ? [2, 0] : [1, 1]
    rows = File.readlines("/proc/#{process}/net/tcp").map(&:split)
    rows = rows.select { |row| row[end_of_mirror].end_with?(format(":%04X", 8080)) && row[3] == ESTABLISHED }
    rows.sum { |row| row[4].split(":")[queue].hex }
  end

  # Ready in a container of the manifest.
  def contained(manifest, before: [])
    words = [Container::BINARY, *manifest["args"]]
    mirror = start(*before, *@pod.inside, *container(manifest).inside, *words)
    await("the mirror to be ready", of: mirror) { code("/readyz", 9400) == "200" }
    mirror
  end

  def container(manifest)
    mounts = manifest.fetch("volumeMounts", []).to_h { |mount| [mount["mountPath"], volume] }
    hosts = manifest.key?("args") ? services(manifest) : []
    Container.new(File.join(@dir, "root").tap { |path| FileUtils.mkdir_p(path) }, volumes: mounts, hosts:)
  end

  # The pod's emptyDir, as the kubelet makes it.
  def volume
    File.join(@dir, "volume").tap do |path|
      FileUtils.mkdir_p(path)
      File.chmod(0o777, path)
    end
  end

  # What the sidecar names by loopback, and the Services that any of them names.
  def application
    binds = [3000, 80].flat_map { |port| ["-b", "tcp://127.0.0.1:#{port}"] }
    start(*@pod.inside, "puma", *binds, "-t", "2:2", chdir: File.join(APPS, "hello"))
  end

  def flight_files = Dir[File.join(volume, "**/*.flight")]

  # Of the processes with a file, as another container of the pod sees them.
  def states(manifest, env)
    started = start(*container(manifest).inside, Container::BINARY, "inspect", env.fetch("POWERBAND_DIR"), "--json")
    ended = finish(started)
    assert_equal 0, ended.code, ended.to_s
    JSON.parse(ended.out)["processes"].map { |process| process["state"] }
  end

  def stop_contained(started, signal = :TERM)
    process = Container.process(started)
    Process.kill(signal, process) if process
    finish(started)
  end

  # With room for that many files in this process.
  def raising_files(count)
    soft, hard = Process.getrlimit(:NOFILE)
    skip "only #{hard} files may be open" if hard < count
    Process.setrlimit(:NOFILE, [soft, count].max, hard)
    yield
  ensure
    Process.setrlimit(:NOFILE, soft, hard) if soft
  end

  def code(path, port)
    Net::HTTP.start(@pod.address, port, open_timeout: 5, max_retries: 0) { |http| http.get(path) }.code
  rescue SystemCallError, EOFError, Net::OpenTimeout
    nil
  end
end
