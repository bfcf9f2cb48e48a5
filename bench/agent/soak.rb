# frozen_string_literal: true

# A Puma cluster under load whose workers are killed, ended, restarted in phases, re-forked and restarted by exec, and what
# became of the flight files meanwhile: `make agent-soak`, about two minutes; REQUESTS=1_000_000 is the full form. Prints a
# table, and ends with 1 when a line of it does not hold.

ROOT = File.expand_path("../..", __dir__)
require "fileutils"
require "json"
require "tmpdir"
require_relative "soak/cluster"
require_relative "soak/worker_over_time"

# The procedure: half of the requests while everything happens to the server, half while one worker is left alone and its
# siblings are killed; then every file is accounted for, and cleaned up.
class Soak
  REQUESTS = Integer(ENV.fetch("REQUESTS", "200_000"))
  CONNECTIONS = 6
  BINARY = ENV.fetch("POWERBAND_BINARY", File.join(ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target"), "release/powerband"))
  PAUSE_S = 0.5 # between one blow and the next, once the server has come round
  LONG_LIVED = 1 # the worker that is left alone in the second half
  MOST_STARTS = 50
  BLOWS = %i[kill_a_worker phased_restart end_a_worker refork kill_the_first_worker restart_by_exec].freeze

  def initialize(folder)
    @folder = folder
    @cluster = Cluster.new(folder)
    @blows = Hash.new(0)
    @answered = @failed = @sent_again = 0
    @lines = []
  end

  def run
    @cluster.start
    load(REQUESTS / 2) { blow }
    load(REQUESTS / 10) { blow } until BLOWS.all? { |kind| @blows.key?(kind) }
    watched = WorkerOverTime.new(@cluster.live.find { |f| f[:worker_index] == LONG_LIVED })
    load(REQUESTS - (REQUESTS / 2)) { |round| spare_the_long_lived(round, watched) }
    @cluster.stop
    account
    watched.lines.each { |line| @lines << line }
    clean_up
    @lines
  ensure
    Process.kill("KILL", @load) if @load
    @cluster.kill
  end

  private

  # Load until that many requests were sent; the block is called again and again meanwhile.
  def load(requests)
    out = File.join(@folder, "load.json")
    asked = ["-n", requests.to_s, "-c", CONNECTIONS.to_s, "--duration", "4h", "--keep-alive"]
    @load = spawn(BINARY, "load", @cluster.url, *asked, "--quiet", "--json", out:, err: File.join(@folder, "load.err"))
    round = -1
    yield round += 1 until Process.wait(@load, Process::WNOHANG)
    @load = nil
    document = JSON.parse(File.read(out))
    @answered += document["statuses"].fetch("200", 0)
    @failed += document["counts"].fetch("failed")
    @sent_again += document["counts"].fetch("sent_again")
    warn "bench/agent/soak: #{requests} requests sent, #{@cluster.files.size} files so far"
  rescue JSON::ParserError
    abort "bench/agent/soak: the load did not end in order: #{File.read(File.join(@folder, 'load.err'))}"
  end

  # One after the other.
  def blow
    kind = BLOWS.min_by { |each| @blows[each] }
    @cluster.public_send(kind)
    @blows[kind] += 1
    sleep PAUSE_S
  end

  def spare_the_long_lived(round, watched)
    watched.sample
    return sleep(0.1) unless (round % 20).zero?

    @cluster.kill_a_worker(@cluster.workers - 1)
    @blows[:kill_a_worker] += 1
  end

  def account
    flights = @cluster.read_all
    written = flights.sum { |f| f[:written] }
    killed = @blows.values_at(:kill_a_worker, :kill_the_first_worker).sum * Cluster::THREADS
    line("blows", @blows.map { |kind, n| "#{n} #{kind.to_s.tr('_', ' ')}" }.join(", "), BLOWS.all? { |b| @blows[b].positive? })
    line("answered with 200 / failed / sent again on a new connection (the client's view)",
         "#{@answered} / #{@failed} / #{@sent_again}", @answered.positive?)
    # A worker may have recorded a request and been killed before its answer left: the client asks again.
    most = @answered + @failed + @sent_again
    line("requests in flight files", "#{written}, which may be from #{@answered - killed} to #{most}",
         written.between?(@answered - killed, most))
    line("processes that served / files that can be read", "#{@cluster.booted.size} / #{flights.size}",
         (@cluster.booted - flights.map { |f| f[:pid] }).empty?)
    line("files whose records, counters and endpoints agree", "#{flights.count { |f| whole?(f) }} of #{flights.size}",
         flights.all? { |f| whole?(f) })
    line("faults in the files / words in the log", "#{flights.sum { |f| f[:faults] }} / #{@cluster.said.size}",
         flights.sum { |f| f[:faults] }.zero? && @cluster.said.empty?)
    line("crashes in the log", @cluster.crashes.size.to_s, @cluster.crashes.empty?)
  end

  # A worker that is killed may have been writing: the counters come before the record, one for each thread.
  def whole?(flight)
    counted = flight.totals[:requests]
    readable = flight.records.size
    expected = [flight[:written], flight[:ring_capacity]].min
    [counted - flight[:written], expected - readable].all? { |lag| lag.between?(0, 1) } &&
      (flight.endpoints.sum { |e| e.counters[:requests] } - counted).between?(-1, 0)
  end

  # A start begins nothing more after 0.2 s, and leaves the rest to the next.
  def clean_up
    [["POWERBAND_KEEP_SIZE", "3MiB", 3 * (1 << 20)], ["POWERBAND_KEEP", "1s", 0]].each do |name, value, at_most|
      before = @cluster.dead_bytes
      starts = 0
      after = before
      while after > at_most && starts < MOST_STARTS
        sleep 1.1 # what the start before has left is old enough, too
        @cluster.start({ "POWERBAND_KEEP" => "off", "POWERBAND_KEEP_SIZE" => "off", name => value }, workers: 1)
        after = @cluster.settled { @cluster.dead_bytes }
        @cluster.stop
        starts += 1
      end
      line("#{name}=#{value}: bytes of the dead before, and after #{starts} starts", "#{before}, #{after}", after <= at_most)
    end
  end

  def line(what, figure, holds)
    @lines << [what, figure, holds]
  end
end

unless File.executable?(Soak::BINARY)
  abort "bench/agent/soak: no #{Soak::BINARY}: run `make build` first, or name one in POWERBAND_BINARY"
end
lines = Dir.mktmpdir("powerband-soak-") { |folder| Soak.new(folder).run }
puts "| #{Soak::REQUESTS} requests | | holds |\n| --- | --- | --- |"
lines.each { |what, figure, holds| puts "| #{what} | #{figure} | #{holds ? 'yes' : 'NO'} |" }
exit(lines.all?(&:last) ? 0 : 1)
