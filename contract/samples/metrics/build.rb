# frozen_string_literal: true

# Makes the golden texts of contract/metrics-v1.md from what the descriptions beside the golden flight files say, sharing
# no code with the gem or the crates, and reading no flight file.
#
#   ruby contract/samples/metrics/build.rb [FOLDER]     (default: this folder)

require "json"

SOURCE = File.expand_path("../flight", __dir__)

# One line for each family: name, type, kind, names apart?, label => counter, help.
GROUPS = [[:request, nil, "requests", "server_errors", "request", "requests", ""],
          [:request, "endpoint", "endpoint_requests", "endpoint_server_errors", "endpoint", "requests", ", by endpoint"],
          [:job, nil, "jobs", "job_errors", "job", "jobs", ""],
          [:job, "job_class", "job_class_jobs", "job_class_errors", "job_class", "jobs", ", by class"]].freeze

CALLS = %w[sql http cache redis].freeze
LE = (8..25).map { |exponent| 2**exponent }.freeze
EXACT = { 75_000 => "wall_up_to_75ms", 250_000 => "wall_up_to_250ms" }.freeze
METHOD = /\A(CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|TRACE) (.+)\z/

# The first microsecond of a bucket, as the page on flight files has it, turned around.
def first_microsecond(bucket)
  bucket < 4 ? bucket : (4 + (bucket % 4)) << ((bucket / 4) - 1)
end

def seconds(nanoseconds)
  text = format("%<whole>d.%<rest>09d", whole: nanoseconds / (10**9), rest: nanoseconds % (10**9))
  text.sub(/\.?0+\z/, "").then { |short| nanoseconds < 10**9 && short.empty? ? "0" : short }
end

# A sample's description, with what it does not measure taken out.
class Story
  attr_reader :header, :pools

  def initialize(name)
    @json = JSON.parse(File.read(File.join(SOURCE, "#{name}.json")))
    @header = @json.fetch("header")
    @measured = @json.fetch("fields").select { |field| field["flags"] == 1 }.map { |field| field["name"] }
    @pools = @json.fetch("pool_samples", []).to_h { |sample| [sample["pool"], sample] }
  end

  def wide?
    header["endpoint_size"] >= 2048
  end

  def measured?(field)
    @measured.include?(field)
  end

  def totals
    known(@json.fetch("totals"))
  end

  def process
    gc = wide? && measured?("gc_ns") ? %w[gc_pause_ns gc_cpu_ns gc_runs] : []
    header.slice(*gc, "clock_skew", "endpoints_lost", "faults").merge("starts" => 1)
  end

  def about
    server, version = header["server_name"].split
    { "server" => server, "version" => version, "ruby" => header["ruby_version"], "jit" => header["jit"].to_s,
      "allocator" => header["allocator"].to_s, "agent" => header["agent_version"], "arm" => header["arm"].to_s }
  end

  # [kind, name, counters and histograms]
  def endpoints
    entries = @json.fetch("endpoints").reject { |entry| entry["requests"].zero? }
    jobs = (entries.map { |entry| entry["name"] } - ["(other)"]).then { |n| n.any? && n.all? { |x| x.start_with?("job ") } }
    entries.map do |entry|
      name = entry["name"]
      job = name.start_with?("job ") || (name == "(other)" && jobs)
      [job ? :job : :request, name.sub(/\Ajob /, ""), known(entry).merge(histograms(entry), edged(entry))]
    end
  end

  def nothing
    known(@json["totals"].transform_values { 0 }).merge(histograms({}))
  end

  private

  def known(counters)
    counters.select { |name, value| value.is_a?(Integer) && measured?(field(name)) && !(name.start_with?("queue") && !wide?) }
  end

  def field(counter)
    return "status" if counter.start_with?("status_")

    { "requests" => "wall_ns", "server_errors" => "wall_ns", "queue_known" => "queue_ns", "pool_count" => "pool_us",
      "busy_sum" => "busy_threads", "spans_known" => "parse_us" }.fetch(counter) do
      measured?(counter) ? counter : counter.sub(/_ns\z/, "_us")
    end
  end

  # A separate histogram, because other files may not count the edges.
  def edged(entry)
    return {} if header["flags"].nobits?(16)

    counts = entry.slice("wall_ns", *EXACT.values)
    { "edged" => counts.merge("wall" => histograms(entry)["wall"]) }
  end

  def histograms(entry)
    known = [%w[wall wall_ns], %w[gvl_wait gvl_wait_ns]]
    known << %w[queue queue_ns] if wide?
    known.select { |_, field| measured?(field) }.to_h do |name, _|
      [name, (entry["#{name}_histogram"] || []).to_h { |pair| [pair["bucket"], pair["count"]] }]
    end
  end
end

# Sums over stories, and their text.
class Text
  def initialize(stories, live, unrecorded, endpoints, opentelemetry)
    @stories = stories
    @live = live
    @unrecorded = unrecorded
    @most = endpoints
    @opentelemetry = opentelemetry
    @out = []
  end

  def to_s
    GROUPS.each { |group| group(*group) }
    responses
    opentelemetry if @opentelemetry
    overall
    @out << "" unless @out.empty?
    @out.join("\n")
  end

  private

  def add(one, other)
    one.merge(other) { |_, a, b| a.is_a?(Hash) ? add(a, b) : a + b }
  end

  def family(name, type, help, samples)
    write("powerband_#{name}", type, help, samples)
  end

  def write(name, type, help, samples)
    return if samples.empty?

    @out << "# HELP #{name} #{help}" << "# TYPE #{name} #{type}"
    samples.each do |suffix, labels, value|
      inside = labels.reject { |label, _| label.nil? }.map { |label, text| "#{label}=#{text.to_s.dump}" }.join(",")
      @out << "#{name}#{suffix}#{"{#{inside}}" unless inside.empty?} #{value}"
    end
  end

  def rows(kind, label)
    found = @stories.flat_map(&:endpoints).select { |k, _, _| k == kind }
    zeros = kind == :request ? @stories.map(&:nothing) : []
    return [[{}, (zeros + found.map(&:last)).reduce { |a, b| add(a, b) }]].select(&:last) unless label

    names = found.group_by { |_, name, _| name }.transform_values { |same| same.map(&:last).reduce { |a, b| add(a, b) } }
    ranked = (names.keys - ["(other)"]).sort_by { |name| [-names[name]["requests"], name] }
    shown = (ranked.first(@most) + (names.keys & ["(other)"])).sort
    shown.map { |name| [{ label => name }, names[name]] }
  end

  def group(kind, label, count, errors, prefix, what, by)
    rows = rows(kind, label)
    capital = what.capitalize
    plain("#{count}_total", "#{capital} that ended#{by}.", rows, "requests")
    plain("#{errors}_total", "#{capital} that failed (an exception, or a status of 500 to 599)#{by}.", rows, "server_errors")
    plain("#{prefix}_cpu_seconds_total", "Processor time of #{what}#{by}.", rows, "cpu_ns")
    plain("#{prefix}_gc_stopped_seconds_total", "Time in which the garbage collector stopped #{what}#{by}.", rows, "gc_ns")
    plain("#{prefix}_allocations_total", "Objects allocated by #{what}#{by}.", rows, "allocations")
    states = rows.flat_map do |labels, row|
      %w[held gvl_wait lock_wait io].filter_map do |state|
        ["", labels.merge("state" => state), seconds(row["#{state}_ns"])] if row["#{state}_ns"]
      end
    end
    family("#{prefix}_seconds_total", "counter", "Time of #{what} by what their thread did#{by}.", states)
    [["duration", "wall", "Time of #{what}, without what went before"],
     ["gvl_wait", "gvl_wait", "Time for which #{what} were ready to run and waited for the GVL"],
     ["queue", "queue", "Time for which #{what} waited before they were begun, where it is known"]].each do |name, of, help|
      samples = rows.flat_map { |labels, row| row[of] ? histogram(labels, row[of], row["#{of}_ns"]) : [] }
      family("#{prefix}_#{name}_seconds", "histogram", "#{help}#{by}.", samples)
    end
  end

  def plain(name, help, rows, key)
    samples = rows.filter_map { |labels, row| ["", labels, key.end_with?("_ns") ? seconds(row[key]) : row[key]] if row[key] }
    family(name, "counter", help, samples)
  end

  def histogram(labels, counts, sum)
    below = lambda do |edge|
      counts.sum { |bucket, count| first_microsecond(bucket) < edge ? count : 0 }
    end
    LE.map { |edge| ["_bucket", labels.merge("le" => seconds(edge * 1000)), below.call(edge)] } +
      [["_bucket", labels.merge("le" => "+Inf"), counts.values.sum], ["_sum", labels, seconds(sum)],
       ["_count", labels, counts.values.sum]]
  end

  def responses
    (_, row), = rows(:request, nil)
    samples = (1..5).filter_map { |n| ["", { "class" => "#{n}xx" }, row["status_#{n}xx"]] if row&.key?("status_#{n}xx") }
    family("responses_total", "counter", "Responses by class of status; what raised is a 5xx.", samples)
  end

  def opentelemetry
    samples = rows(:request, "endpoint").flat_map do |labels, row|
      next [] unless row["edged"]

      method, route = labels["endpoint"].match(METHOD)&.captures || [nil, labels["endpoint"]]
      bounds({ "http_request_method" => method, "http_route" => route }.compact, row["edged"])
    end
    write("http_server_request_duration_seconds", "histogram",
          "Time of requests in the application by route, of processes that count 75 and 250 ms.", samples)
  end

  def bounds(labels, edged)
    below = ->(edge) { edged["wall"].sum { |bucket, count| first_microsecond(bucket) < edge ? count : 0 } }
    buckets = (LE + EXACT.keys).sort.map do |edge|
      ["_bucket", labels.merge("le" => seconds(edge * 1000)), EXACT[edge] ? edged[EXACT[edge]] : below[edge]]
    end
    all = edged["wall"].values.sum
    buckets + [["_bucket", labels.merge("le" => "+Inf"), all], ["_sum", labels, seconds(edged["wall_ns"])],
               ["_count", labels, all]]
  end

  def overall
    totals = @stories.map(&:totals).reduce { |a, b| add(a, b) } || {}
    process = @stories.map(&:process).reduce { |a, b| add(a, b) } || {}
    counters(totals)
    processes(process)
    gauges
  end

  def counters(totals)
    calls = ->(suffix) { CALLS.to_h { |client| [client, "#{client}_#{suffix}"] } }
    [["call_seconds_total", "client", calls["ns"], "Time of calls as the application sees it, GVL wait included."],
     ["call_gvl_wait_seconds_total", "client", calls["gvl_ns"],
      "GVL wait inside calls; without it, they took what they really took."],
     ["calls_total", "client", calls["count"], "Calls."],
     ["pool_wait_seconds_total", nil, { nil => "pool_ns" }, "Waiting for a database connection, GVL wait included."],
     ["pool_gvl_wait_seconds_total", nil, { nil => "pool_gvl_ns" }, "GVL wait inside waiting for a database connection."],
     ["pool_waits_total", nil, { nil => "pool_count" }, "Checkouts of a database connection that had to wait."],
     ["server_seconds_total", "part", { "parse" => "parse_ns", "write" => "write_ns" },
      "The server's own time with a request, before and after the application."],
     ["server_thread_seconds_total", "state", { "held" => "server_held_ns", "gvl_wait" => "server_gvl_wait_ns" },
      "Time of serving threads outside the application."]].each do |name, label, of, help|
      known = of.select { |_, key| totals[key] }
      samples = known.map { |word, key| ["", { label => word }, key.end_with?("_ns") ? seconds(totals[key]) : totals[key]] }
      family(name, "counter", help, samples)
    end
  end

  def processes(process)
    [["gc_pause_seconds_total", "gc_pause_ns", "Pauses of the garbage collector, in which no Ruby thread of the process ran."],
     ["gc_cpu_seconds_total", "gc_cpu_ns", "Processor time of the garbage collector."],
     ["gc_runs_total", "gc_runs", "Pauses of the garbage collector."],
     ["clock_skew_total", "clock_skew", "Requests whose queue time was negative or absurd."],
     ["endpoints_lost_total", "endpoints_lost",
      "Requests under (other) because their process had no room for more endpoints."],
     ["agent_faults_total", "faults", "Errors inside the agent, which it kept to itself."],
     ["process_starts_total", "starts", "Processes that began to record."]].each do |name, key, help|
      plain(name, help, [[{}, process]], key)
    end
  end

  def gauges
    pools = @live.flat_map { |story| story.pools.to_a }.group_by(&:first).transform_values do |same|
      same.map { |_, sample| sample.except("sequence", "mono_ns", "pool") }.reduce { |a, b| add(a, b) }
    end.sort
    of = lambda do |words|
      pools.flat_map { |pool, sample| words.map { |l, key| ["", { "pool" => pool, "state" => l }.compact, sample[key]] } }
    end
    family("pool_size", "gauge", "Connections that the pools of live processes may have.", of[nil => "size"])
    family("pool_connections", "gauge", "Connections of the pools of live processes as last seen.",
           of["busy" => "busy", "idle" => "idle", "dead" => "dead"])
    family("pool_waiting", "gauge", "Threads of live processes that waited for a connection as last seen.",
           of[nil => "waiting"])
    family("processes", "gauge", "Live processes that record.", [["", {}, @live.size]])
    family("processes_expected", "gauge", "Processes that the servers of live processes are set to run.",
           [["", {}, expected]])
    family("requests_in_flight", "gauge", "Requests and jobs being served in live processes.",
           [["", {}, @live.sum { |story| story.header["in_flight"] }]])
    family("threads", "gauge", "Threads that serve in live processes at most.",
           [["", {}, @live.sum { |story| story.header["server_max_threads"] }]].select { @live.any? })
    family("unreadable_files", "gauge", "Flight files that are damaged or none, and left out.", [["", {}, 0]])
    family("processes_unrecorded", "gauge", "Live processes that cannot make their flight file, by the error.",
           @unrecorded.tally.sort.map { |reason, number| ["", { "reason" => reason }, number] })
    family("server_info", "gauge", "What live processes are, always 1.",
           @live.group_by(&:about).sort_by { |about, _| about.values }.map { |about, same| ["", about.merge(sizes(same)), 1] })
  end

  # Empty where they differ.
  def sizes(stories)
    { "threads" => "server_max_threads", "workers" => "server_workers" }.transform_values do |field|
      numbers = stories.map { |story| story.header[field] }.uniq
      numbers.size == 1 ? numbers.first.to_s : ""
    end
  end

  # The samples all name the same parent.
  def expected
    single, clustered = @live.partition { |story| story.header["server_workers"].zero? }
    single.size + clustered.map { |story| story.header["server_workers"] }.max.to_i
  end
end

if $PROGRAM_NAME == __FILE__
  folder = ARGV.fetch(0, __dir__)
  JSON.parse(File.read(File.join(__dir__, "cases.json"))).each do |name, wanted|
    stories = wanted["samples"].to_h { |sample| [sample, Story.new(sample)] }
    text = Text.new(stories.values, stories.values_at(*wanted["live"]), wanted.fetch("unrecorded", []), wanted["endpoints"],
                    wanted.fetch("opentelemetry", false))
    File.write(File.join(folder, "#{name}.prom"), text.to_s)
  end
end
