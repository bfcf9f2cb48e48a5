# frozen_string_literal: true

require_relative "site"

# Requests a second of a saturated site, and those that a second of its CPU time is enough for, by arm, round by round. A round
# starts a server of each arm anew, because where a process's memory lies alone can make it some percent faster or slower, and
# then they take turns, one of them under load at a time, because the machine's speed drifts within seconds.
class Throughput
  # What a server did in a round.
  Round = Struct.new(:answered, :seconds, :cpu_s) do
    def per_s = answered / seconds
    def per_cpu_s = answered / cpu_s
  end

  # So many seconds of load for each arm in a round, in so many turns.
  def initialize(bench, site, rounds:, seconds:, turns: 4, arms: Bench::ARMS)
    @bench = bench
    @site = site
    @rounds = rounds
    @seconds = seconds
    @turns = turns
    @arms = arms
  end

  def table
    figures = Array.new(@rounds) { |number| round(number + 1) }
    rows = (@arms - ["none"]).flat_map do |arm|
      { per_s: "requests/s", per_cpu_s: "requests per CPU second" }.map do |figure, what|
        none, with = ["none", arm].map { |name| figures.map { |round| round[name].public_send(figure) } }
        compared = @bench.compare(none, with)
        medians = [none, with].map { |values| format("%.1f", Figures.median(values)) }
        [arm, what, *medians, compared.text(3), compared.verdict]
      end
    end
    Figures.markdown(["arm", "", "without", "with", "ratio", "within 3 %?"], rows)
  end

  private

  # What each arm's server did.
  def round(number)
    @bench.progress "#{@site.name}, round #{number} of #{@rounds}"
    servers = {}
    @arms.each { |arm| servers[arm] = Served.new(@bench, @site, arm) }
    servers.each_value do |server|
      server.await
      server.load("--duration", "1s")
    end
    sums = @arms.to_h { |arm| [arm, Round.new(0, 0.0, 0.0)] }
    turn = ["--duration", "#{@seconds / @turns.to_f}s"]
    @turns.times { @arms.shuffle(random: @bench.random).each { |arm| add(sums[arm], servers[arm], turn) } }
    sums
  ensure
    servers.each_value(&:stop)
  end

  def add(sum, server, turn)
    before = server.cpu_s
    answered, seconds = server.load(*turn)
    sum.answered += answered
    sum.seconds += seconds
    sum.cpu_s += server.cpu_s - before
  end
end
