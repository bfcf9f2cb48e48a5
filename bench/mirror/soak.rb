# frozen_string_literal: true

# A mirror under load whose primary and shadows are killed, restarted, stopped and cut off at random, and what became of every
# request: `ruby bench/mirror/soak.rb`; MINUTES=20 RATE=3000 is the full form, one minute the short one. Prints a table, and ends
# with 1 when a line of it does not hold.

ROOT = File.expand_path("../..", __dir__)
require "fileutils"
require "json"
require "net/http"
require "open3"
require "tmpdir"
require_relative "servers"
require_relative "soak/upstream"

# One open loop through a mirror that records and has two shadows; blows, one after another; then the account.
class Soak
  MINUTES = Float(ENV.fetch("MINUTES", "1"))
  RATE = Integer(ENV.fetch("RATE", "2000"))
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  BINARY = ENV.fetch("POWERBAND_BINARY", File.join(ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target"), "release/powerband"))
  MAX_HELD_MIB = 16
  # Code, stacks, buffers of the connections of clients, the recording's own.
  BESIDE_MIB = 160
  Line = Struct.new(:what, :found, :holds)

  def initialize(folder)
    @folder = folder
    @random = Random.new(SEED)
    @blows = Hash.new(0)
    @primary, *@shadows = %w[primary a b].map { |name| Upstream.new(folder, name) }
    @recording = "#{folder}/traffic.pbc"
  end

  def run
    [@primary, *@shadows].each(&:start)
    mirror
    document = load { blow }
    [@primary, *@shadows].each(&:recover)
    status = settled
    @peak_mib = @mirror.peak_mib
    @mirror.stop
    account(document, status.fetch("counts"))
  ensure
    [@mirror, @primary, *@shadows].compact.each(&:stop)
  end

  private

  def mirror
    port = Servers.free_port
    @status = Servers.free_port
    copies = @shadows.flat_map { |one| ["--shadow", "#{one.name}=http://127.0.0.1:#{one.port}"] }
    @mirror = Servers::Server.new(Upstream::CORES, BINARY, "mirror", "--listen", "127.0.0.1:#{port}", "--primary",
                                  "http://127.0.0.1:#{@primary.port}", *copies, "--deadline", "2s", "--max-held",
                                  "#{MAX_HELD_MIB}MiB", "--answer-timeout", "3s", "--record", @recording, "--status",
                                  "127.0.0.1:#{@status}", port:, log: "#{@folder}/mirror.log").await
  end

  # The generator's document; the block is called until it has ended.
  def load
    out = "#{@folder}/load.json"
    generator = Process.spawn(BINARY, "load", "http://127.0.0.1:#{@mirror.port}/", "--rate", RATE.to_s, "--duration",
                              "#{(MINUTES * 60).round}s", "--timeout", "5s", "--max-connections", "2048",
                              "--keep-alive", "--json", "--quiet",
                              out:, err: "#{@folder}/load.err")
    yield until Process.wait(generator, Process::WNOHANG)
    generator = nil
    JSON.parse(File.read(out))
  ensure
    Process.kill(:KILL, generator) if generator
  end

  # Shadows have it worse than the primary, which is well most of the time.
  def blow
    victim = @random.rand < 0.25 ? @primary : @shadows.sample(random: @random)
    kind = Upstream::BLOWS.sample(random: @random)
    @blows["#{victim == @primary ? 'primary' : 'shadow'} #{kind}"] += 1
    victim.public_send(kind)
    sleep(@random.rand(0.05..0.6))
    victim.recover
    sleep(@random.rand(0.1..0.8))
  end

  # Once nothing is under way any more.
  def settled
    loop do
      status = JSON.parse(Net::HTTP.get("127.0.0.1", "/status.json", @status))
      counts = status["counts"]
      ended = counts.values_at("answered", "failed", "aborted").sum
      return status if counts["received"] == ended && counts["shadows"].all? { |one| one["pending"].zero? }

      sleep 0.1
    end
  end

  def account(document, counts)
    [*clients(document, counts), *copies(counts), recording(counts),
     Line.new("most memory, MiB: the cap of #{MAX_HELD_MIB} and #{BESIDE_MIB} beside it", @peak_mib.round,
              @peak_mib < MAX_HELD_MIB + BESIDE_MIB),
     Line.new("blows", @blows.sort.map { |kind, count| "#{count} #{kind}" }.join(", "), @blows.any?)]
  end

  # What clients saw is what the mirror counted: the primary's answers, and 502 or 504 or a cut where it gave none.
  def clients(document, counts)
    statuses = document["statuses"].transform_keys(&:to_i)
    others = statuses.keys - [200, 502, 504]
    gateway = statuses.slice(502, 504).values.sum
    sent = document["counts"]["sent"] + document["counts"].fetch("sent_again", 0)
    ended = counts.values_at("answered", "failed", "aborted")
    [
      Line.new("received = answered + failed + left", "#{counts['received']} = #{ended.join(' + ')}",
               counts["received"] == ended.sum),
      Line.new("sent by the generator, received by the mirror", "#{sent}, #{counts['received']}", sent >= counts["received"]),
      Line.new("200 seen by clients, answered by the primary", "#{statuses[200]}, #{counts['answered']}",
               statuses.fetch(200, 0) <= counts["answered"]),
      Line.new("statuses other than 200, 502 and 504", others.inspect, others.empty?),
      Line.new("502 and 504 seen, failed by the primary", "#{gateway}, #{counts['failed']}", gateway <= counts["failed"])
    ]
  end

  def copies(counts)
    counts["shadows"].map do |one|
      parts = [one["answered"], one["failed"].values.sum, one["dropped"].values.sum]
      Line.new("#{one['name']}: sampled = answered + failed + dropped", "#{one['sampled']} = #{parts.join(' + ')}",
               one["sampled"] == parts.sum)
    end
  end

  def recording(counts)
    output, status = Open3.capture2(BINARY, "capture", "info", @recording, "--json")
    recorded = status.success? ? JSON.parse(output).fetch("requests") : 0
    Line.new("received, recorded", "#{counts['received']}, #{recorded}", recorded == counts["received"])
  end
end

folder = Dir.mktmpdir("mirror-soak-")
began = Time.now
lines = Soak.new(folder).run
puts "#{Soak::MINUTES} minutes at #{Soak::RATE} requests a second, seed #{Soak::SEED}, #{Time.now.utc.strftime('%Y-%m-%d')}, " \
     "#{(Time.now - began).round} s.\n\n| what | found | holds |\n| --- | --- | --- |\n"
lines.each { |line| puts "| #{line.what} | #{line.found} | #{line.holds ? 'yes' : '**no**'} |" }
if lines.all?(&:holds)
  FileUtils.remove_entry(folder)
else
  warn "bench/mirror/soak: kept for a look: #{folder}"
  exit 1
end
