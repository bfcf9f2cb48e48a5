# frozen_string_literal: true

require "net/http"
require "socket"

# Real servers of the test's own, each on a free port.
module Servers
  REDMINE = "/usr/share/redmine"

  # A server that listens.
  Serving = Struct.new(:started, :port) do
    def url(path = "/") = "http://127.0.0.1:#{port}#{path}"
    def get(path) = Net::HTTP.get_response(URI(url(path)))
  end

  # Puma on the application in a folder, started by the words before its own where there are any.
  def puma(folder, *flags, before: [], threads: 2, env: {}, boot: 60)
    port = free_port
    started = start(*before, "puma", *flags, "-b", "tcp://127.0.0.1:#{port}", "-t", "#{threads}:#{threads}",
                    chdir: folder, env: env)
    await("Puma to listen", within: boot, of: started) { listens?(port) }
    Serving.new(started, port)
  end

  # Debian's Redmine as it is installed, on a seeded copy of its data.
  def redmine(**how)
    puma(REDMINE, "-e", "production", env: seeded_redmine, boot: 120, **how)
  end

  # Ends a server, and returns what it left. Puma 6.6 on Ruby 3.3 misses a signal now and then, without the agent as with it, and
  # never ends: it is killed, as an operator would do.
  def stop(server, signal = :TERM)
    server.started.signal(signal)
    ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    sleep 0.02 until server.started.status || Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
    server.started.signal(:KILL) unless server.started.status
    finish(server.started)
  end

  # Ruby 3.3 takes Puma's threads for deadlocked in some shutdowns, without the agent as with it.
  def deadlocked?(ended)
    ended.err.include?("No live threads left. Deadlock?")
  end

  def free_port
    free_ports(1).first
  end

  def free_ports(count)
    sockets = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
    sockets.map { |socket| socket.addr[1] }
  ensure
    sockets&.each(&:close)
  end

  def listens?(port, host: "127.0.0.1")
    TCPSocket.new(host, port).close
    true
  rescue SystemCallError
    false
  end

  private

  def seeded_redmine
    seed, copy = %w[e2e/redmine/seed target/e2e/redmine].map { |path| File.join(PowerbandTest::ROOT, path) }
    ended = finish(start(seed, copy), within: 300)
    assert_equal 0, ended.code, ended.to_s
    ended.out.lines.to_h { |line| line.chomp.split("=", 2) }
  end
end
