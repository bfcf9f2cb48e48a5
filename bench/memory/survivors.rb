# frozen_string_literal: true

# What sampling survivors costs, against full tracing: `ruby bench/memory/survivors.rb`. QUICK=1 takes seconds and proves that it
# works. Prints the table and writes it; see README.md in this folder.

require "erb"
require "json"
require "objspace"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"

QUICK = ENV["QUICK"] == "1"
ROUNDS = QUICK ? 3 : 30
REQUESTS = QUICK ? 100 : 500
DEPTH = 80

Build.run("bench/memory", "ruby", "gem/ext/powerband/build.rb")
Build.release("bench/memory", "powerband-stats", "--example", "ratio")
$LOAD_PATH.unshift("#{Build::ROOT}/gem/lib", "#{Build::ROOT}/gem/test")
require "powerband"
require "support/flight_reader"
require "support/events_reader"
require "support/survivors_reader"

# What a request of a Rails application does with objects: rows become hashes, hashes a page, on a deep stack; a cache keeps some.
class Work
  ROWS = Array.new(60) { |i| { id: i, name: "product #{i}", price: i * 100, tags: %w[a b c] } }.freeze
  PAGE = ERB.new(<<~HTML)
    <ul><% rows.each do |row| %><li class="<%= row[:tags].join(" ") %>"><a href="/p/<%= row[:slug] %>">
    <%= ERB::Util.html_escape(row[:name].upcase) %></a> <%= format("%.2f", row[:price] / 100.0) %></li><% end %></ul>
  HTML
  KEPT = 2000

  def initialize
    @text = JSON.generate(ROWS)
    @cache = {}
    @served = 0
  end

  def requests(count)
    count.times { nested(DEPTH) }
  end

  private

  def nested(depth)
    depth.zero? ? serve : nested(depth - 1)
  end

  def serve
    rows = JSON.parse(@text, symbolize_names: true).map { |row| row.merge(slug: row[:name].downcase.gsub(/\W/, "-")) }
    @cache.shift if @cache.size == KEPT
    @cache["page #{@served += 1}"] = PAGE.result_with_hash(rows: rows.sort_by { |row| row[:slug] })
  end
end

# The same work with each way to see where objects are made.
class Arms
  SETTINGS = {
    root: nil, ring_capacity: 64, ruby_version: RUBY_VERSION, server_name: "bench", framework: "", agent_version: "0",
    app_root: "/", workers: 1, min_threads: 1, max_threads: 1, preload: 0, worker_index: 0, queue_limit_ns: 60_000_000_000
  }.freeze

  def initialize(root)
    Powerband::Native.open(SETTINGS.merge(root:))
    @work = Work.new
    @asked = 0
  end

  def none = cpu_s

  def survivors(every)
    path = SurvivorsReader.ask(Powerband::Native.path, request: @asked += 1, every:)
    boundary
    taken = cpu_s
    EventsReader.word(Powerband::Native.path, 0)
    boundary
    abort "bench/memory: nothing was sampled" unless SurvivorsReader.new(File.binread(path))[:sampled].positive?
    File.unlink(path)
    taken
  end

  def full
    taken = nil
    ObjectSpace.trace_object_allocations { taken = cpu_s }
    taken
  end

  private

  def boundary = Powerband::Middleware.new(->(_) { [200, {}, []] }).call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/")

  def cpu_s
    GC.start
    before = now
    @work.requests(REQUESTS)
    now - before
  end

  def now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

WAYS = {
  "not asked" => ->(arms) { arms.none },
  "not asked, once more" => ->(arms) { arms.none },
  "one object in 4,096" => ->(arms) { arms.survivors(4096) },
  "one object in 512 (usual)" => ->(arms) { arms.survivors(512) },
  "one object in 64" => ->(arms) { arms.survivors(64) },
  "ObjectSpace.trace_object_allocations" => ->(arms) { arms.full }
}.freeze

times = Dir.mktmpdir do |root|
  arms = Arms.new(root)
  arms.none
  Figures.rounds(ROUNDS, WAYS.keys, Random.new(1)) { |way| WAYS.fetch(way).call(arms) }
end
rows = times.except("not asked").map do |way, all|
  [way, Figures.compare(Build::TARGET, times.fetch("not asked"), all).text(2)]
end
text = <<~MARKDOWN
  # What sampling survivors costs

  Made by `ruby bench/memory/survivors.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}; load average
  at the end #{File.read('/proc/loadavg').split.first}. What is measured how: [README.md](README.md).

  CPU time of #{REQUESTS} requests against that without tracing, median of #{ROUNDS} rounds with its 95 % interval.

MARKDOWN
text << Figures.markdown(["how objects are traced", "CPU time against none"], rows)
file = QUICK ? "#{Build::TARGET}/bench-survivors.md" : File.join(__dir__, "SURVIVORS.md")
File.write(file, text)
puts text
warn "bench/memory: written to #{file}"
