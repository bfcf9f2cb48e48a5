# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"

# Monotonic time.
module Clock
  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# A cluster of Puma with the agent, of whose processes each has counted requests of most endpoints.
class Cluster
  PROCESSES = 32
  # As many as a Rails application of medium size has.
  ENDPOINTS = ("aa".."zz").first(100).freeze
  RATE_PER_S = 100

  APP = __dir__

  attr_reader :folder

  # Of a benchmark, by a built binary.
  def initialize(bench, binary)
    @folder = Dir.mktmpdir("bench-cluster-")
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @pid = Process.spawn(binary, "run", "--flight-dir", "#{folder}/flight", "--", "puma", "-w", PROCESSES.to_s, "-t", "2:2",
                         "-b", "tcp://127.0.0.1:#{@port}", chdir: APP, out: "#{folder}/log", err: %i[child out])
    sleep 0.1 until files.length == PROCESSES || ended?
    abort "#{bench}: Puma ended: #{File.read("#{folder}/log")}" if ended?
    ask until files.length == PROCESSES
    (PROCESSES * ENDPOINTS.length * 3).times { ask }
  end

  # Requests at an even rate until the block ends.
  def under_load
    ends = false
    client = Thread.new do
      due = Clock.now
      until ends
        ask
        due += 1.0 / RATE_PER_S
        sleep([due - Clock.now, 0].max)
      end
    end
    yield
  ensure
    ends = true
    client.join
  end

  def close
    Process.kill(:TERM, @pid)
    Process.wait(@pid)
    FileUtils.remove_entry(folder)
  end

  # The process of one worker.
  def worker = Integer(File.basename(files.first)[/\A\d+/])

  private

  def files = Dir.glob("#{folder}/flight/**/*.flight")

  def ended? = !Process.wait(@pid, Process::WNOHANG).nil?

  def ask
    TCPSocket.open("127.0.0.1", @port) do |socket|
      socket.write("GET /#{ENDPOINTS.sample} HTTP/1.0\r\n\r\n")
      socket.read
    end
  end
end
