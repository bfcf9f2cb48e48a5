# frozen_string_literal: true

# What takes turns in a round: a closed loop for throughput, and an open loop at a rate that every arm can serve for the p99.
class Arms
  # Far below what any arm serves, and far above what the slowest of the peers' troubles would let through.
  RATE = 6000
  Seen = Struct.new(:per_s, :p99_ms)

  def initialize(bench, rounds:, seconds:)
    @bench = bench
    @rounds = rounds
    @seconds = seconds
  end

  def words
    "#{@rounds} rounds of #{@seconds} s of each, in random order; ratios are Hodges-Lehmann's with their 95 % intervals. " \
      "p99 at #{RATE} requests a second."
  end

  private

  # Each arm's figures, round by round, while all of its servers live.
  def figures(ports)
    made = ports.transform_values { [] }
    @rounds.times do |number|
      @bench.progress "#{self.class::TITLE}, round #{number + 1} of #{@rounds}"
      ports.keys.shuffle(random: @bench.random).each { |arm| made[arm] << seen(ports[arm]) }
    end
    made
  end

  def seen(port)
    url = "http://127.0.0.1:#{port}/"
    wrk = Tools::Wrk.new
    closed = wrk.report(@bench.machine.generate(wrk.closed(url, @seconds)).output)
    Seen.new(closed.requests / closed.seconds, at_rate(port).p99_ms)
  end

  def at_rate(port)
    open = [@bench.binary, "load", "http://127.0.0.1:#{port}/", "--duration", "#{@seconds}s", "--json", "--quiet",
            "--keep-alive", "--rate", RATE.to_s, "--max-connections", "1024"]
    Tools::Powerband.new(@bench.binary).report(@bench.machine.generate(open).output)
  end

  def ratio(made, arm, to, figure)
    @bench.compare(made[to].map(&figure), made[arm].map(&figure)).text(3)
  end

  def median(made, arm, figure, digits)
    values = made[arm].map(&figure).compact
    values.empty? ? "–" : format("%.#{digits}f", Figures.median(values))
  end

  def folder(name) = "#{@bench.folder}/#{name}".tap { |path| FileUtils.mkdir_p(path) }

  # The block with an application and whatever else the block of `more` starts; all of them end.
  def with(name)
    started = []
    dir = folder(name)
    start = ->(server) { server.tap { started << server }.await }
    primary = start.call(Servers.application(dir, "application", @bench.other_core))
    yield dir, primary, start
  ensure
    started.reverse_each(&:stop)
  end
end

# Who is how fast when everybody is well.
class Proxies < Arms
  TITLE = "Everybody well"

  def tables
    with("proxies") do |dir, primary, start|
      shadow = start.call(Servers.application(dir, "shadow", @bench.other_core))
      core = @bench.proxy_core
      ours = ->(name, flags) { start.call(Servers.powerband(dir, name, core, @bench.binary, primary.port, flags)) }
      ports = {
        "no proxy" => primary.port,
        "nginx" => start.call(Servers.nginx_proxy(dir, "plain", core, primary.port)).port,
        "nginx, mirror" => start.call(Servers.nginx_proxy(dir, "mirror", core, primary.port, shadow.port)).port,
        "powerband" => ours.call("ours", []).port
      }
      @status = Servers.free_port
      copying = ["--shadow", "a=http://127.0.0.1:#{shadow.port}", "--status", "127.0.0.1:#{@status}"]
      shadowed = ours.call("ours-shadow", copying)
      ports["powerband, a shadow"] = shadowed.port
      made = figures(ports)
      table(made, ports.keys) + copies(shadowed.port) + "\nMost memory with a shadow: #{format('%.0f', shadowed.peak_mib)} MiB.\n"
    end
  end

  private

  def table(made, arms)
    rows = arms.map do |arm|
      both = [arm, "no proxy"].map { |name| made[name].map(&:p99_ms) }.transpose.select(&:all?)
      added = both.map { |with, without| with - without }
      [arm, median(made, arm, :per_s, 0), arm == "nginx" ? "–" : ratio(made, arm, "nginx", :per_s),
       arm == "nginx, mirror" ? "–" : ratio(made, arm, "nginx, mirror", :per_s), median(made, arm, :p99_ms, 2),
       added.empty? ? "–" : format("%+.2f", Figures.median(added))]
    end
    Figures.markdown(["arm", "requests/s", "to nginx", "to nginx with mirror", "p99, ms", "added"], rows)
  end

  # Where the core is full clients go first: what of the copies was sent is part of the answer, then and at the fixed rate.
  def copies(port)
    before = shadow_counts
    at_rate(port)
    after = shadow_counts
    sampled, answered = %w[sampled answered].map { |what| after[what] - before[what] }
    dropped = before["dropped"].map { |cause, count| "#{count} #{cause}" }.join(", ")
    dropped = "none" if dropped.empty?
    "\nIn all rounds #{before['answered']} of #{before['sampled']} copies for the shadow were answered; dropped: #{dropped}. " \
      "At #{RATE} a second alone: #{answered} of #{sampled}.\n"
  end

  # Once nothing is under way.
  def shadow_counts
    loop do
      counts = JSON.parse(Net::HTTP.get("127.0.0.1", "/status.json", @status)).dig("counts", "shadows", 0)
      return counts if counts["pending"].zero?

      sleep 0.05
    end
  end
end

# What a shadow that is not well costs the primary's clients.
class Unwell < Arms
  TITLE = "A shadow that is not well"
  KINDS = %w[hung resetting garbage trickle slow].freeze
  # A reload and nothing else: what the procedure makes of no difference.
  CONTROL = "none (a reload alone)"

  def words
    "#{turns} turns of #{Counted::WINDOW_S} s without and with the shadow, of one mirror that is reloaded between them; " \
      "ratios are Hodges-Lehmann's with their 95 % intervals. p99 at #{RATE} requests a second: #{@rounds} rounds of " \
      "#{@seconds} s of each mirror, in random order."
  end

  def tables
    with("unwell") do |dir, primary, start|
      @dir = dir
      @primary = primary.port
      shadows = (wanted & KINDS).to_h { |kind| [kind, start.call(Servers.unwell(dir, kind, @bench.other_core)).port] }
      shadows["refusing"] = Servers.free_port if wanted.include?("refusing")
      shadows.transform_values! { |port| "http://127.0.0.1:#{port}" }
      throughput = { CONTROL => nil }.merge(shadows).to_h { |kind, url| [kind, toggled(kind, url)] }
      late = p99(shadows, start)
      rows = throughput.map { |kind, (without, with, peak)| row(kind, without, with, peak, late) }
      Figures.markdown(["shadow", "requests/s without", "with", "ratio", "p99, ms, without", "with", "ratio", "most memory, MiB"],
                       rows)
    end
  end

  private

  def turns = @seconds * 13

  def wanted = ENV["SHADOWS"]&.split(",") || [*KINDS, "refusing"]

  def row(kind, without, with, peak, late)
    times = ["–"] * 3
    if late[kind]
      times = ["no shadow", kind].map { |arm| median(late, arm, :itself, 2) } + [ratio(late, kind, "no shadow", :itself)]
    end
    [kind, format("%.0f", Figures.median(without)), format("%.0f", Figures.median(with)), @bench.compare(without, with).text(3),
     *times, format("%.0f", peak)]
  end

  def toggled(kind, url)
    @bench.progress "#{TITLE}: #{kind}, #{turns} turns"
    Toggled.new(@bench, folder("unwell-#{kind[/\w+/]}"), @primary, url).measure(turns)
  end

  def p99(shadows, start)
    proxy = ->(name, flags) { start.call(Servers.powerband(@dir, name, @bench.proxy_core, @bench.binary, @primary, flags)).port }
    ports = { "no shadow" => proxy.call("ours", []) }
    shadows.each { |kind, url| ports[kind] = proxy.call("ours-#{kind}", ["--shadow", "a=#{url}"]) }
    Figures.rounds(@rounds, ports.keys, @bench.random) do |arm, number|
      @bench.progress "#{TITLE}: p99, #{arm}, round #{number} of #{@rounds}"
      at_rate(ports[arm]).p99_ms
    end
  end
end

# What recording costs.
class Captures < Arms
  TITLE = "Recording"
  CONTROL = "no recording, once more"

  def words
    "#{turns} turns of #{Counted::WINDOW_S} s of each, in random order, each with a loop of its own that is held in between; " \
      "ratios are Hodges-Lehmann's with their 95 % intervals. p99 at #{RATE} requests a second: #{@rounds} rounds of " \
      "#{@seconds} s of each."
  end

  def tables
    with("capture") do |dir, primary, start|
      flags = { "no recording" => [], CONTROL => [], "recording" => ["--record", "#{dir}/traffic.pbc"] }
      @bench.progress "#{TITLE}: #{turns} turns"
      made = InTurns.new(@bench, dir, primary.port, flags).measure(turns)
      late = p99(dir, primary, start, flags)
      rows = flags.keys.map do |arm|
        alone = arm == "no recording"
        [arm, median(made, arm, :itself, 0), alone ? "–" : ratio(made, arm, "no recording", :itself),
         median(late, arm, :itself, 2)]
      end
      Figures.markdown(["arm", "requests/s", "ratio", "p99, ms"], rows)
    end
  end

  private

  def turns = @seconds * 27

  def p99(dir, primary, start, flags)
    ports = flags.to_h do |name, words|
      log = "p99-#{name.tr(', ', '-')}"
      [name, start.call(Servers.powerband(dir, log, @bench.proxy_core, @bench.binary, primary.port, words)).port]
    end
    Figures.rounds(@rounds, ports.keys, @bench.random) do |arm, number|
      @bench.progress "#{TITLE}: p99, #{arm}, round #{number} of #{@rounds}"
      at_rate(ports[arm]).p99_ms
    end
  end
end
