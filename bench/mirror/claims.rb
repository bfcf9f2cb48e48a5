# frozen_string_literal: true

require_relative "../../e2e/support/binomial"
require_relative "../support/figures"

# Runs with identical shadows, each with what it claims, and the rule that judges them.
class Claims
  # Share of the runs that may claim a difference.
  ALLOWED = 0.05
  # More claims exclude that rate where it leads to as many in fewer series than this.
  LEVEL = 0.05

  # `ratio`: of the shadow that was named second to the first.
  Run = Struct.new(:named_first, :twin, :ratio, :outcome) do
    def claim? = %w[better worse].include?(outcome)
    def first_faster? = ratio > 1
    def setup = [named_first, twin]
  end

  def initialize(runs)
    @runs = runs
  end

  # Claims by set-up, and of all of them.
  def table
    rows = @runs.group_by(&:setup).sort.map { |setup, runs| [*setup, runs.size, runs.count(&:claim?)] }
    Figures.markdown(["named first", "twin", "runs", "claims"], [*rows, ["either", "either", @runs.size, count]])
  end

  def summary
    "#{count} of #{@runs.size} runs claim a difference: #{judgement}. The shadow named first was faster in #{first_faster}."
  end

  def allowed? = count <= ALLOWED * @runs.size || !excluded?

  # Neither place makes a shadow faster.
  def orders_alike?
    [first_faster, @runs.size - first_faster].all? { |side| Binomial.plausible?(side, of: @runs.size, at: 0.5) }
  end

  private

  def count = @runs.count(&:claim?)
  def first_faster = @runs.count(&:first_faster?)
  def chance = Binomial.at_least(count, of: @runs.size, at: ALLOWED)
  def excluded? = chance < LEVEL

  def judgement
    return "at most #{percent(ALLOWED)}" if count <= ALLOWED * @runs.size

    series = "a rate of #{percent(ALLOWED)} leads to as many or more in #{percent(chance)} of such series"
    excluded? ? "#{series}, so the rate is higher" : "more than #{percent(ALLOWED)}, but #{series}, so it is not excluded"
  end

  def percent(share) = "#{format('%.1f', 100 * share).delete_suffix('.0')} %"
end
