# frozen_string_literal: true

require_relative "support/mirrors"
require_relative "support/pod"
require_relative "support/powerband"

# One mirror takes over from another one: at a socket that a service manager passes to both, at a shared port, at a Unix socket.
class MirrorHandoverTest < PowerbandTest
  parallelize_me!

  include Mirrors

  # As systemd starts a service with a socket unit.
  ACTIVATED = ["sh", "-c", 'LISTEN_PID=$$ exec "$0" "$@"'].freeze
  CLIENTS = 3
  REQUEST = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
  # A drain closes a new connection without a request after so many seconds (docs/mirror.md).
  GRACE = 1
  # Mirrors after the first one.
  SUCCESSORS = 3

  def teardown
    super
  ensure
    @pod&.remove
  end

  def test_no_request_fails_while_a_second_mirror_takes_over_a_passed_socket
    primary = puma(app("hello"))
    socket = TCPServer.new("127.0.0.1", 0)
    first = activated(primary, socket)
    clients = asking(socket.addr[1])
    await_answers(clients)
    second = activated(primary, socket)
    ended = stop(first)
    assert_equal 0, ended.code, ended.to_s
    await_answers(clients)
    assert_equal [], finished(clients)
    assert_operator second.counts["answered"], :>=, CLIENTS
    assert_equal 0, stop(second).code
  ensure
    clients&.each(&:kill)
    socket&.close
  end

  def test_two_mirrors_share_a_port
    primary = puma(app("hello"))
    first = mirror(primary, "--reuse-port")
    second = mirror(primary, "--reuse-port", port: first.port)
    refused = powerband("mirror", "--listen", "127.0.0.1:#{first.port}", "--primary", primary.url.chomp("/"))
    assert_match(/cannot listen on 127.0.0.1:#{first.port}: .*give an address/, refused.err)
    assert_equal 0, stop(first).code
    5.times { assert_equal "hello\n", Net::HTTP.get(URI(second.url)) }
    assert_operator second.counts["answered"], :>=, 5
  end

  # Linux gives what waits at a listener that is closed to another one of its port where tcp_migrate_req says so.
  def test_no_request_fails_while_mirrors_take_over_a_shared_port
    lacks = Pod.lacks
    skip lacks if lacks
    @pod = Pod.new
    lacks = @pod.connect || migrating
    skip lacks if lacks
    start(*@pod.inside, "puma", "-b", "tcp://127.0.0.1:3000", "-t", "3:3", chdir: app("hello"))
    mirror = sharing(9400)
    await("Puma to answer") { answered(8080) == "200" }
    clients = asking(8080, @pod.address)
    SUCCESSORS.times do |number|
      await_answers(clients)
      successor = sharing(9401 + number)
      mirror.signal(:TERM)
      assert_equal 0, finish(mirror).code
      mirror = successor
    end
    await_answers(clients)
    assert_equal [], finished(clients)
  ensure
    clients&.each(&:kill)
  end

  def test_unix_sockets_on_both_sides
    front, back = %w[mirror puma].map { |name| File.join(@dir, "#{name}.sock") }
    server = start("puma", "-b", "unix://#{back}", "-t", "1:1", chdir: app("hello"))
    await("Puma to listen", of: server) { File.socket?(back) }
    words = ["mirror", "--listen", "unix:#{front}", "--listen-mode", "660", "--primary", "unix:#{back}"]
    first = start(BINARY, *words)
    await("the mirror to listen", of: first) { File.socket?(front) && ask(front) == "hello\n" }
    assert_equal 0o660, File.stat(front).mode & 0o777
    assert_match(/another process listens there/, powerband(*words).err)
    first.signal(:KILL)
    finish(first)
    assert File.socket?(front), "nobody removed the file"
    second = start(BINARY, *words)
    await("the next mirror to listen", of: second) { ask(front) == "hello\n" }
    second.signal(:TERM)
    assert_equal 0, finish(second).code
    refute_path_exists front
  end

  def test_a_service_manager_is_told_when_the_mirror_serves_and_ends
    path = File.join(@dir, "notify")
    told = Socket.new(:UNIX, :DGRAM)
    told.bind(Addrinfo.unix(path))
    mirror = mirror(puma(app("hello")), env: { "NOTIFY_SOCKET" => path })
    assert_equal "READY=1", received(told)
    assert_equal 0, stop(mirror).code
    assert_equal "STOPPING=1", received(told)
  ensure
    told&.close
  end

  def test_a_mirror_whose_status_address_is_taken_accepts_no_client
    taken = Array.new(2) { TCPServer.new("127.0.0.1", 0) }
    port, status = taken.map { |socket| "127.0.0.1:#{socket.addr[1]}" }
    # The one that is named is the one that it tried first.
    ended = powerband("mirror", "--primary", "http://127.0.0.1:1", "--listen", port, "--status", status)
    assert_refused ended, 2, /--status = #{status}: cannot listen there/
  ensure
    taken&.each(&:close)
  end

  def test_a_socket_that_was_not_passed_is_named
    ended = powerband("mirror", "--primary", "http://127.0.0.1:1", "--listen", "systemd")
    assert_refused ended, 2, /no socket was passed to this process/
    ended = powerband("mirror", "--primary", "unix:puma.sock", "--listen", ":0", "--listen-mode", "rw")
    assert_refused ended, 2, /--primary = "unix:puma.sock"/, /--listen-mode = "rw"/
  end

  private

  def app(name) = File.join(APPS, name)

  def activated(primary, socket)
    passed = { "LISTEN_FDS" => "1", "LISTEN_FDNAMES" => "web" }
    mirror(primary, before: ACTIVATED, listen: "systemd:web", port: socket.addr[1], env: passed, 3 => socket)
  end

  # Why connections do not migrate in the pod; nil where they do.
  def migrating
    setting = "/proc/sys/net/ipv4/tcp_migrate_req"
    return "#{setting} is not there: it came with Linux 5.14" unless File.exist?(setting)

    ended = finish(start(*@pod.inside, "sh", "-c", "echo 1 > #{setting}"))
    ended.code.zero? ? nil : "#{setting} cannot be written: #{ended.err}"
  end

  # A mirror in the pod that serves, at the port of the others.
  def sharing(status)
    words = ["--listen", "0.0.0.0:8080", "--reuse-port", "--status", "0.0.0.0:#{status}", "--primary", "http://127.0.0.1:3000"]
    mirror = start(*@pod.inside, BINARY, "mirror", *words, "--forwarded", "replace")
    await("the mirror to be ready", of: mirror) { answered(status, "/readyz") == "200" }
    mirror
  end

  def answered(port, path = "/")
    Net::HTTP.get_response(@pod.address, path, port).code
  rescue SystemCallError
    nil
  end

  # Clients that connect anew for each request; each keeps what was no good answer.
  def asking(port, host = "127.0.0.1")
    Array.new(CLIENTS) do
      Thread.new do
        client = Thread.current
        client[:failed] = []
        client[:answered] = 0
        until client[:enough]
          failure = failure_of_a_request(host, port)
          client[:failed] << failure if failure
          client[:answered] += 1
        end
      end
    end
  end

  # nil for a good answer, and for a request that this host delayed until a drain may have closed its connection.
  def failure_of_a_request(host, port)
    begun = monotonic
    sent = nil
    status = TCPSocket.open(host, port) do |socket|
      socket.write(REQUEST)
      sent = monotonic
      socket.read[%r{\AHTTP/1\.1 (\d+) }, 1]
    rescue SystemCallError => e
      e.message
    end
    "#{status || 'no answer'} to a request in time" unless status == "200" || (sent || monotonic) - begun >= GRACE
  rescue SystemCallError => e
    e.message
  end

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def await_answers(clients)
    before = clients.map { |client| client[:answered].to_i }
    await("answers") { clients.zip(before).all? { |client, count| client[:answered].to_i > count + 10 } }
  end

  def finished(clients)
    clients.each { |client| client[:enough] = true }.each(&:join)
    clients.flat_map { |client| client[:failed] }
  end

  def ask(path)
    UNIXSocket.open(path) do |socket|
      socket.write(REQUEST)
      socket.read.split("\r\n\r\n", 2).last
    end
  rescue SystemCallError
    nil
  end

  def received(socket)
    await("a message") { socket.wait_readable(0) }
    socket.recv(64)
  end
end
