# frozen_string_literal: true

require "socket"
require "timeout"

# A server that the applications under test talk to, on a free port of this machine, always ended.
class Service
  PATIENCE = 30 # seconds

  attr_reader :port

  def self.redis
    new { |port| ["redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"] }
  end

  # As another user than root where need be, which memcached insists on.
  def self.memcached
    user = Process.uid.zero? ? %w[-u nobody] : []
    new { |port| ["memcached", "-l", "127.0.0.1", "-p", port.to_s, "-U", "0", *user] }
  end

  def initialize
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @pid = spawn(*yield(port), chdir: Dir.tmpdir, out: File::NULL, err: File::NULL)
    await
  end

  def stop
    return unless @pid

    Process.kill("TERM", @pid)
    Timeout.timeout(PATIENCE) { Process.wait(@pid) }
    @pid = nil
  end

  private

  def await
    Timeout.timeout(PATIENCE) { sleep 0.01 until answers? }
  rescue Timeout::Error
    stop
    raise
  end

  def answers?
    raise "the service ended at once" if Process.wait(@pid, Process::WNOHANG)

    TCPSocket.open("127.0.0.1", port, &:close) || true
  rescue Errno::ECONNREFUSED
    false
  end
end
