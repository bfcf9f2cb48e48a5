# frozen_string_literal: true

# What `powerband export` costs on 32 processes: `ruby bench/export/run.rb`. QUICK=1 takes half a minute and proves that it works.
# Prints the table and writes it; see README.md in this folder.

require "net/http"
require_relative "../support/build"
require_relative "../support/cluster"
require_relative "../support/figures"
require_relative "../../e2e/support/otlp_receiver"

QUICK = ENV["QUICK"] == "1"
SECONDS = QUICK ? 4 : 30
ROUNDS = QUICK ? 1 : 3
# The usual interval of scrapes and pushes.
INTERVAL_S = 15

# `powerband export` for some seconds.
class Export
  # What it cost: CPU time of a core by wall time, and the most memory that it had.
  Cost = Struct.new(:share, :bytes)
  WAYS = ["nobody asks", "scraped every second", "pushed every second"].freeze

  def initialize(binary, site)
    @binary = binary
    @flight = Dir["#{site.folder}/flight/*"].fetch(0)
    @receiver = OtlpReceiver.new
  end

  def cost(way)
    words = ["--listen", "127.0.0.1:0"]
    otlp = ["--otlp", "http://127.0.0.1:#{@receiver.port}", "--service", "x", "--opentelemetry", "--interval", "1s"]
    words += otlp if way == WAYS[2]
    out, write = IO.pipe
    pid = Process.spawn(@binary, "export", @flight, *words, out: write)
    address = URI(out.gets.chomp)
    scrape(address)
    before = cpu_s(pid)
    began = Clock.now
    pass(way, address, began)
    share = (cpu_s(pid) - before) / (Clock.now - began)
    Cost.new(share, File.read("/proc/#{pid}/status")[/^VmHWM:\s+(\d+) kB/, 1].to_i * 1024)
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
    [out, write].each(&:close)
  end

  private

  def pass(way, address, began)
    SECONDS.times do |second|
      sleep([began + second + 1 - Clock.now, 0].max)
      scrape(address) if way == WAYS[1]
    end
    abort "bench/export: nothing was pushed" if way == WAYS[2] && !@receiver.last_push.metrics.key?("powerband.requests")
  end

  def scrape(address)
    answer = Net::HTTP.get_response(address)
    abort "bench/export: #{answer.code} #{answer.body}" unless answer.body.include?("powerband_processes #{Cluster::PROCESSES}")
  end

  # Threads that have ended are in it.
  def cpu_s(pid)
    File.read("/proc/#{pid}/stat").rpartition(")").last.split.values_at(11, 12).sum(&:to_i) / 100.0
  end
end

binary = Build.program_and_agent("bench/export")
site = Cluster.new("bench/export", binary)
begin
  export = Export.new(binary, site)
  costs = site.under_load do
    Figures.rounds(ROUNDS, Export::WAYS, Random.new(1)) { |way| export.cost(way) }
  end
ensure
  site.close
end
percent = ->(share) { format("%.2f %%", 100 * share) }
idle = Figures.median(costs.fetch(Export::WAYS.first).map(&:share))
rows = costs.map do |way, all|
  shares = all.map(&:share)
  median = Figures.median(shares)
  usual = idle + ([median - idle, 0].max / INTERVAL_S)
  [way, percent[median], percent[shares.max], percent[usual], format("%.1f MiB", all.map(&:bytes).max / (1 << 20).to_f)]
end
text = <<~MARKDOWN
  # What export costs

  Made by `ruby bench/export/run.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}. What is measured how:
  [README.md](README.md).

  #{Cluster::PROCESSES} processes, each with #{Cluster::ENDPOINTS.length} endpoints; #{Cluster::RATE_PER_S} requests a second; #{ROUNDS} × #{SECONDS} s each;
  load average at the end #{File.read('/proc/loadavg').split.first}.

MARKDOWN
head = ["", "CPU of one core, median", "most", "the same every #{INTERVAL_S} s", "most memory"]
text << Figures.markdown(head, rows)
Figures.publish("export", text, full: !QUICK)
