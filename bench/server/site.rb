# frozen_string_literal: true

require "etc"
require "fileutils"
require "socket"
require "tmpdir"

# One server with the trivial application and the agent, for as long as the block runs.
class Site
  # Below any queue: costs are of requests that come alone.
  RATE_PER_S = 150
  TRACE_S = 6
  START_S = 60
  # Exit code of a load or a trace that a busy machine spoiled.
  SPOILED = 3

  attr_reader :folder

  # What gives the gems of `gems` the place of installed ones.
  def self.environment(gems) = gems ? { "GEM_PATH" => "#{gems}:#{Gem.path.join(':')}" } : {}

  # By a built binary, with these gems. `strict`: a load that a busy machine spoiled ends the program.
  def self.open(binary, name, gems, strict:)
    site = new(binary, gems, strict)
    site.start(name)
    yield site
  ensure
    site&.close
  end

  def initialize(binary, gems, strict)
    @binary = binary
    @gems = gems
    @strict = strict
    @folder = Dir.mktmpdir("bench-server-")
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
  end

  def start(name)
    command = [@binary, "run", "--flight-dir", "#{folder}/flight", "--", *words(name)]
    @pid = Process.spawn(Site.environment(@gems), *command, chdir: __dir__, out: "#{folder}/log", err: %i[child out])
    deadline = now_s + START_S
    until answers?
      abort "bench/server: #{name} ended: #{File.read("#{folder}/log")}" if ended?
      abort "bench/server: #{name} did not answer within #{START_S} s: #{File.read("#{folder}/log")}" if now_s > deadline
      sleep 0.1
    end
  end

  # Traces all threads while requests come, once the server is warm.
  def trace(kept:)
    load(2)
    client = Thread.new { load(TRACE_S + 2, *("--keep-alive" if kept)) }
    run("trace", "--gvl", "#{folder}/flight", "--for", "#{TRACE_S}s", "--keep", "--output", "#{folder}/trace.json")
    client.join
  end

  # CPU time of the server's processes for the requests that its flight files have, nanoseconds.
  def cpu_ns
    before = ticks
    load(TRACE_S)
    (ticks - before) * 1_000_000_000 / Etc.sysconf(Etc::SC_CLK_TCK)
  end

  def close
    unless @pid.nil? || ended?
      Process.kill(:TERM, @pid)
      Process.wait(@pid)
    end
    FileUtils.remove_entry(folder)
  end

  private

  def words(name)
    case name
    when "puma" then ["puma", "-t", "3:3", "-b", "tcp://127.0.0.1:#{@port}"]
    when "unicorn" then ["unicorn", "-l", "127.0.0.1:#{@port}", "-E", "none"]
    end
  end

  def load(seconds, *words)
    run("load", "http://127.0.0.1:#{@port}/", "--rate", RATE_PER_S.to_s, "--duration", "#{seconds}s", *words)
  end

  def run(*words)
    done = system(@binary, *words, "--quiet", out: File::NULL)
    spoiled = Process.last_status.exitstatus == SPOILED
    abort "bench/server: powerband #{words.first} failed" unless done || (spoiled && !@strict)
  end

  def ticks
    # utime and stime are the twelfth and thirteenth after the name.
    tree(@pid).sum { |pid| File.read("/proc/#{pid}/stat")[/\) (.*)/, 1].split[11, 2].sum(&:to_i) }
  end

  def tree(pid)
    [pid] + File.read("/proc/#{pid}/task/#{pid}/children").split.flat_map { |child| tree(Integer(child)) }
  end

  def answers?
    TCPSocket.open("127.0.0.1", @port) do |socket|
      socket.write("GET / HTTP/1.0\r\n\r\n")
      socket.read.include?("200 OK")
    end
  rescue SystemCallError
    false
  end

  # A process can be waited for once.
  def ended? = @ended ||= !Process.wait(@pid, Process::WNOHANG).nil?

  def now_s = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
