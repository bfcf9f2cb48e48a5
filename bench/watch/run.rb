# frozen_string_literal: true

# What `powerband watch` costs on 32 processes: `ruby bench/watch/run.rb`. QUICK=1 takes half a minute and proves that it works.
# Prints the table and writes it; see README.md in this folder.

require "fileutils"
require "io/console"
require "net/http"
require "pty"
require "socket"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"

ROOT = File.expand_path("../..", __dir__)
QUICK = ENV["QUICK"] == "1"
PROCESSES = 32
# As many as a Rails application of medium size has.
ENDPOINTS = ("aa".."zz").first(100).freeze
RATE_PER_S = 100
SECONDS = QUICK ? 4 : 30
ROUNDS = QUICK ? 1 : 2

# Monotonic time.
module Clock
  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# A cluster of Puma with the agent, of whose processes each has counted requests of most endpoints.
class Site
  attr_reader :folder

  def initialize(binary)
    @folder = Dir.mktmpdir("bench-watch-")
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @pid = Process.spawn(binary, "run", "--flight-dir", "#{folder}/flight", "--", "puma", "-w", PROCESSES.to_s, "-t", "2:2",
                         "-b", "tcp://127.0.0.1:#{@port}", chdir: __dir__, out: "#{folder}/log", err: %i[child out])
    sleep 0.1 until files.length == PROCESSES || ended?
    abort "bench/watch: Puma ended: #{File.read("#{folder}/log")}" if ended?
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

# `powerband watch` under a terminal for some seconds.
class Watch
  SCREENS = {
    "all processes" => [],
    "one process in detail" => :pid,
    "one endpoint in detail" => ["--endpoint", "GET /#{ENDPOINTS.first}"]
  }.freeze

  def initialize(binary, site)
    @binary = binary
    @site = site
  end

  # CPU time of the whole program by wall time, its start and its reading of PSS included.
  def share_of_a_core(screen)
    words = SCREENS.fetch(screen)
    words = ["--pid", @site.worker.to_s] if words == :pid
    before = cpu_s
    began = Clock.now
    show(words)
    (cpu_s - before) / (Clock.now - began)
  end

  private

  def show(words)
    main, terminal = PTY.open
    terminal.winsize = [50, 160]
    pid = Process.spawn({ "TERM" => "xterm" }, @binary, "watch", *words, "#{@site.folder}/flight", in: terminal, out: terminal,
                                                                                                   err: terminal)
    shown = +""
    reader = Thread.new { loop { shown << main.readpartial(1 << 16) } }
    reader.report_on_exception = false
    sleep SECONDS
    Process.kill(:TERM, pid)
    Process.wait(pid)
    abort "bench/watch: nothing was shown:\n#{shown}" unless shown.include?("req/s")
    reader.kill
    [main, terminal].each(&:close)
  end

  def cpu_s
    times = Process.times
    times.cutime + times.cstime
  end
end

target = ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target")
binary = ENV.fetch("POWERBAND_BINARY", "#{target}/release/powerband")
unless ENV["POWERBAND_BINARY"]
  Build.run("bench/watch", "cargo", "build", "--quiet", "--release", "--locked", "--workspace", "--bins")
end
Build.run("bench/watch", "ruby", "gem/ext/powerband/build.rb")
site = Site.new(binary)
watch = Watch.new(binary, site)
begin
  shares = site.under_load do
    Figures.rounds(ROUNDS, Watch::SCREENS.keys, Random.new(1)) { |screen| watch.share_of_a_core(screen) }
  end
ensure
  site.close
end
percent = ->(share) { format("%.2f %%", 100 * share) }
rows = shares.map { |screen, all| [screen, percent[Figures.median(all)], percent[all.min], percent[all.max]] }
text = <<~MARKDOWN
  # What the live view costs

  Made by `ruby bench/watch/run.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}. What is measured how:
  [README.md](README.md).

  #{PROCESSES} processes, each with #{ENDPOINTS.length} endpoints, read once a second; #{RATE_PER_S} requests a second; #{ROUNDS} × #{SECONDS} s a screen;
  load average at the end #{File.read('/proc/loadavg').split.first}.

MARKDOWN
text << Figures.markdown(["screen", "CPU of one core, median", "least", "most"], rows)
results = QUICK ? "#{target}/bench-watch.md" : "#{__dir__}/RESULTS.md"
File.write(results, text)
puts text
warn "bench/watch: written to #{results}"
