# frozen_string_literal: true

# One application's grid, the search of the same space in a quarter of the grid's time, and the best of both head to head.
class Beside
  attr_reader :name, :space, :grid, :search, :final, :finalists, :best_of_grid, :found

  # The search's configuration over the best of the grid's finalists in the last blocks, and over the one that was its first
  # before them.
  attr_reader :against_best, :against_first

  def initialize(name, space, seed)
    @name = name
    @space = space
    @seed = seed
    @powerband = Powerband.new(name)
  end

  def measure
    @grid = Trials.new((1..space.rounds).map { |round| round_of_grid(round) })
    @best_of_grid = medians.max_by(space.finalists) { |_, capacity| capacity }.map(&:first)
    @search = Trials.new([searched])
    @found = found_by(search.documents.first)
    @finalists = [found, *best_of_grid, Space::BASELINE].uniq
    @finalists << Space.arm(0, 2, []) if @finalists.one?
    @final = Trials.new([finals])
    judge
    self
  end

  # Of the grid's rounds, by configuration.
  def medians = grid.capacities(space.arms).transform_values { |figures| Figures.median(figures) }

  # Each finalist over the search's configuration, which is the first: good answers a second, with its interval.
  def comparisons
    names = final.names(finalists)
    final.documents.first.fetch("comparisons").to_h do |one|
      ratio, low, high, verdict = one.values_at("ratio", "low", "high", "outcome")
      [names[one["candidate"]], Figures::Compared.new(ratio:, low:, high:, verdict:)]
    end
  end

  def verdict = search.documents.first.dig("verdict", "sentence")

  # A quarter of the grid's time, as `--budget` takes it, or the least that it takes.
  def budget = space.budget || "#{[(grid.seconds / 4).floor, LEAST_BUDGET_S].max}s"

  private

  WINDOW = "2s"
  BLOCKS = "6"
  FINAL_BLOCKS = "12"
  # Below it six blocks of windows of two seconds are refused before anything is known of the application.
  LEAST_BUDGET_S = 240

  # Every configuration once, in random order.
  def round_of_grid(round)
    warn "bench/grid: #{name}: round #{round} of #{space.rounds}, #{space.arms.size} configurations"
    @powerband.run("grid-#{round}", "compare", *space.arms, "--rehearse", "--window", WINDOW, "--seed", (@seed + round).to_s)
  end

  def searched
    warn "bench/grid: #{name}: the search, #{budget}"
    # A search that knew the grid of an earlier sitting would find it again.
    flags = ["--baseline", "workers=0,threads=3", "--budget", budget, "--window", WINDOW, "--blocks", BLOCKS,
             "--earlier-runs", "false"]
    @powerband.run("search", "tune", *space.flags, *flags, "--seed", @seed.to_s)
  end

  # The configuration that is recommended, as `compare` takes it.
  def found_by(document)
    workers, threads, preload = document.dig("verdict", "settings").values_at("workers", "threads", "preload")
    chosen = document.fetch("arms").find { |one| one["name"] == document.dig("verdict", "arm") }
    set = chosen&.fetch("environment", []).to_a.map { |one| one.values_at("knob", "value").join("=") }
    Space.arm(workers, threads, set.uniq, preload:)
  end

  def finals
    warn "bench/grid: #{name}: #{finalists.size} finalists"
    @powerband.run("head-to-head", "compare", *finalists, "--window", "3s", "--blocks", FINAL_BLOCKS, "--seed", @seed.to_s)
  end

  # By the ratio of the best of the grid's finalists; where none is ahead, the search's is the best itself.
  def judge
    best = comparisons.slice(*best_of_grid).values.max_by(&:ratio)
    @against_best = turned(best && best.ratio > 1 ? best : nil)
    @against_first = turned(comparisons[best_of_grid.first])
  end

  # The search's over another's instead of the other's over the search's, which is 1 where there is no other.
  def turned(one)
    low, high = [one&.high, one&.low].map { |bound| bound && (1 / bound) }
    Figures::Compared.new(ratio: one ? 1 / one.ratio : 1.0, low:, high:)
  end
end
