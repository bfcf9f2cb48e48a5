# frozen_string_literal: true

# What came of one application, in Markdown.
class Page
  def initialize(made, seed)
    @made = made
    @seed = seed
  end

  def write
    FileUtils.mkdir_p("#{__dir__}/results")
    File.write("#{__dir__}/results/#{@made.name}.md", [heading, answer, finalists, cost, whole_grid].join("\n"))
  end

  private

  def heading
    <<~MARKDOWN
      # #{@made.name}: the search against the grid

      Made by `ruby bench/grid/run.rb #{@made.name}` on #{Time.now.utc.strftime('%Y-%m-%d')}, seed #{@seed}: #{Figures.machine}.
      What is measured how: [README.md](../README.md). The space: #{@made.space.described}.
    MARKDOWN
  end

  def answer
    <<~MARKDOWN
      The search's configuration carries **#{@made.against_best.text(3)}** of what the best of the grid's four carries in the last
      blocks, and #{@made.against_first.text(3)} of what the grid's first does, in
      #{search.measuring.size} trials and a pilot of #{search.all.size - search.measuring.size} against the grid's #{grid.measuring.size}
      (#{format('%.0f', 100.0 * search.all.size / grid.measuring.size)} %), in #{minutes(search.seconds)} against #{minutes(grid.seconds)}.
      What it said: "#{@made.verdict}"
    MARKDOWN
  end

  def finalists
    rows = @made.finalists.map do |arm|
      one = @made.comparisons[arm]
      ["`#{arm}`", role(arm), format("%.1f", Figures.median(capacities.fetch(arm))), one&.text(3) || "–", one&.verdict || "–"]
    end
    head = ["configuration", "which", "answers a second", "over the search's", "verdict"]
    "## Head to head, in blocks, after both\n\n#{Figures.markdown(head, rows)}"
  end

  def cost
    rows = { "grid" => grid, "search" => search, "head to head" => @made.final }.map do |what, trials|
      parts = [trials.starts_s, trials.warmups_s, trials.windows_s, trials.waited_s, trials.own_s]
      own = trials.own_s && format("%.1f %%", 100 * trials.own_s / trials.windows_s)
      [what, trials.all.size.to_s, *parts.map { |s| s ? format("%.0f", s) : "–" }, own || "–"]
    end
    head = ["run", "trials", "starts, s", "warm-ups, s", "windows, s", "waiting, s", "Powerband's own, s",
            "own over windows"]
    "## Where the time went\n\n#{Figures.markdown(head, rows)}"
  end

  def whole_grid
    all = grid.capacities(@made.space.arms)
    rows = all.sort_by { |_, figures| -Figures.median(figures) }.map do |arm, figures|
      ["`#{arm}`", format("%.1f", Figures.median(figures)), figures.map { |figure| format("%.1f", figure) }.join(", ")]
    end
    missing = @made.space.arms - all.keys
    note = missing.empty? ? "" : "\nFailed in every round: #{missing.map { |arm| "`#{arm}`" }.join(', ')}.\n"
    "## The grid\n\n#{Figures.markdown(['configuration', 'answers a second, median', 'each round'], rows)}#{note}"
  end

  def grid = @made.grid
  def search = @made.search
  def capacities = @made.final.capacities(@made.finalists)

  def role(arm)
    rank = @made.best_of_grid.index(arm)
    [("the search's" if arm == @made.found), ("the grid's #{rank + 1}." if rank), ("what runs today" if arm == Space::BASELINE)]
      .compact.join(", ")
  end

  def minutes(seconds) = "#{seconds.round / 60} min #{seconds.round % 60} s"
end
