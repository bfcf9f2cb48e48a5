# frozen_string_literal: true

# What `powerband memory` costs on 20 processes: `ruby bench/memory/run.rb`. QUICK=1 takes seconds and proves that it works.
# Prints the table and writes it; see README.md in this folder.

require "fileutils"
require "json"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"

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

# `powerband memory` on the processes of a site.
class Reading
  # An hour's is ended after as many seconds as a minute's takes.
  LENGTHS = { "for an hour, the beginning of it" => "1h", "for #{SECONDS} s" => "#{SECONDS}s" }.freeze

  def initialize(binary, site)
    @binary = binary
    @site = site
    @documents = Hash.new { |all, length| all[length] = [] }
  end

  attr_reader :documents

  # CPU time of the whole program by wall time, its start included.
  def share_of_a_core(length)
    before = cpu_s
    began = now
    text = read(LENGTHS.fetch(length))
    share = (cpu_s - before) / (now - began)
    document = JSON.parse(text)
    count = document["processes"].length
    abort "bench/memory: #{count} processes were read, not #{PROCESSES}" unless count == PROCESSES
    @documents[length] << document
    share
  end

  private

  def read(length)
    words = ["memory", "--pid", @site.pid.to_s, "--for", length, "--interval", "1s", "--json"]
    IO.popen([@site.environment, @binary, *words, { err: File::NULL }]) do |output|
      sleep SECONDS
      Process.kill(:INT, output.pid) if length == "1h"
      output.read
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def cpu_s
    times = Process.times
    times.cutime + times.cstime
  end
end

binary = Build.program_and_agent("bench/memory")
site = Site.new(binary)
reading = Reading.new(binary, site)
begin
  shares = Figures.rounds(ROUNDS, Reading::LENGTHS.keys, Random.new(1)) { |length| reading.share_of_a_core(length) }
ensure
  site.close
end
percent = ->(share) { format("%.2f %%", 100 * share) }
rows = shares.map do |length, all|
  exact = reading.documents[length].map { |document| document["samples"].count { |sample| sample["pss_bytes"] } }
  [length, percent[Figures.median(all)], percent[all.min], percent[all.max], exact.join(", ")]
end
last = reading.documents.values.last.last["samples"].last
text = <<~MARKDOWN
  # What reading memory costs

  Made by `ruby bench/memory/run.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}. What is measured how:
  [README.md](README.md).

  #{PROCESSES} processes with #{last['rss_bytes'] >> 20} MiB RSS together, read once a second for #{ROUNDS} × #{SECONDS} s each;
  load average at the end #{File.read('/proc/loadavg').split.first}.

MARKDOWN
text << Figures.markdown(["asked for", "CPU of one core, median", "least", "most", "readings of PSS"], rows)
Figures.publish("memory", text, full: !QUICK)
