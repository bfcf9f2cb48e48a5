# frozen_string_literal: true

require_relative "site"

# Requests a second of a saturated site, by arm, round by round. A round starts a server of each arm anew, because where a
# process's memory lies alone can make it some percent faster or slower, and then they take turns, one of them under load at a
# time, because the machine's speed drifts within seconds.
class Throughput
  TURNS = 4

  # So many seconds of load for each arm in a round, in so many turns.
  def initialize(bench, site, rounds:, seconds:, arms: Bench::ARMS)
    @bench = bench
    @site = site
    @rounds = rounds
    @seconds = seconds
    @arms = arms
  end

  def table
    figures = Array.new(@rounds) { |number| round(number + 1) }
    none = figures.map { |round| round["none"] }
    rows = (@arms - ["none"]).map do |arm|
      with = figures.map { |round| round[arm] }
      compared = @bench.compare(none, with)
      [arm, format("%.0f", Figures.median(none)), format("%.0f", Figures.median(with)), compared.text(3), compared.verdict]
    end
    Figures.markdown(["arm", "requests/s without", "with", "ratio", "within 3 %?"], rows)
  end

  private

  # Requests a second, by arm.
  def round(number)
    @bench.progress "#{@site.name}, round #{number} of #{@rounds}"
    servers = {}
    @arms.each { |arm| servers[arm] = Served.new(@bench, @site, arm) }
    servers.each_value do |server|
      server.await
      server.load("--duration", "1s")
    end
    sums = Hash.new(0)
    turn = ["--duration", "#{@seconds / TURNS.to_f}s"]
    TURNS.times { @arms.shuffle(random: @bench.random).each { |arm| sums[arm] += servers[arm].load(*turn) } }
    sums.transform_values { |sum| sum / TURNS }
  ensure
    servers.each_value(&:stop)
  end
end
