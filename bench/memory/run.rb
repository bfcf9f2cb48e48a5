# frozen_string_literal: true

# What `powerband memory` costs on 20 processes: `ruby bench/memory/run.rb`. QUICK=1 takes seconds and proves that it works.
# Prints the table and writes it; see README.md in this folder.

require "English"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"

ROOT = File.expand_path("../..", __dir__)
QUICK = ENV["QUICK"] == "1"
PROCESSES = 20
SECONDS = QUICK ? 5 : 60
ROUNDS = QUICK ? 1 : 2

# A cluster of Puma with the agent: a master and its workers.
class Site
  attr_reader :pid

  def initialize(binary)
    @folder = Dir.mktmpdir("bench-memory-")
    @pid = Process.spawn(environment, binary, "run", "--", "puma", "-w", (PROCESSES - 1).to_s, "-t", "2:2", "-b",
                         "unix://#{@folder}/puma.sock", chdir: __dir__, out: "#{@folder}/log", err: %i[child out])
    sleep 0.1 until files.length == PROCESSES - 1 || ended?
    abort "bench/memory: Puma ended: #{File.read("#{@folder}/log")}" if @ended
  end

  # Where the agent of these processes writes.
  def environment = { "POWERBAND_DIR" => "#{@folder}/flight" }

  def close
    Process.kill(:TERM, @pid)
    Process.wait(@pid)
    FileUtils.remove_entry(@folder)
  end

  private

  def files = Dir.glob("#{@folder}/flight/**/*.flight")

  def ended? = @ended = !Process.wait(@pid, Process::WNOHANG).nil?
end

# CPU time of a program by wall time, and what it printed.
def share_of_a_core(*command)
  cpu = -> { Process.times.then { |times| times.cutime + times.cstime } }
  clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
  before = [cpu.call, clock.call]
  text = IO.popen([*command, { err: File::NULL }], &:read)
  abort "bench/memory: #{command.join(' ')} failed" unless $CHILD_STATUS.success?
  [(cpu.call - before[0]) / (clock.call - before[1]), text]
end

target = ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target")
binary = ENV.fetch("POWERBAND_BINARY", "#{target}/release/powerband")
unless ENV["POWERBAND_BINARY"]
  Build.run("bench/memory", "cargo", "build", "--quiet", "--release", "--locked", "--workspace", "--bins")
end
Build.run("bench/memory", "ruby", "gem/ext/powerband/build.rb")
site = Site.new(binary)
begin
  shares, texts = Array.new(ROUNDS) do
    share_of_a_core(site.environment, binary, "memory", "--pid", site.pid.to_s, "--for", "#{SECONDS}s", "--json")
  end.transpose
ensure
  site.close
end
documents = texts.map { |text| JSON.parse(text) }
processes = documents.map { |document| document["processes"].length }.uniq
abort "bench/memory: #{processes} processes were read, not #{PROCESSES}" unless processes == [PROCESSES]
last = documents.last["samples"].last
percent = ->(share) { format("%.2f %%", 100 * share) }
exact = documents.map { |document| document["samples"].count { |sample| sample["pss_bytes"] } }
text = <<~MARKDOWN
  # What reading memory costs

  Made by `ruby bench/memory/run.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}. What is measured how:
  [README.md](README.md).

  #{PROCESSES} processes with #{last['rss_bytes'] >> 20} MiB RSS and #{last['pss_bytes'].to_i >> 20} MiB PSS together, read once a second for #{ROUNDS} × #{SECONDS} s; load average at
  the end #{File.read('/proc/loadavg').split.first}.

MARKDOWN
text << Figures.markdown(["CPU of one core, median", "least", "most", "readings of PSS"],
                         [[percent[Figures.median(shares)], percent[shares.min], percent[shares.max], exact.join(", ")]])
results = QUICK ? "#{target}/bench-memory.md" : "#{__dir__}/RESULTS.md"
File.write(results, text)
puts text
warn "bench/memory: written to #{results}"
