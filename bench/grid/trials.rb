# frozen_string_literal: true

# The trials of one or more runs of one kind, and where their time went.
class Trials
  attr_reader :documents

  def initialize(documents)
    @documents = documents
  end

  def all = documents.flat_map { |document| document.fetch("trials") }

  # Without the pilot's, which settle how the others are run.
  def measuring = all.reject { |trial| trial["stage"] == "pilot" }

  def seconds = documents.sum { |document| document.fetch("elapsed_s") }

  def windows_s = all.sum { |trial| window(trial, "saturation") + window(trial, "objective") }
  def starts_s = all.sum { |trial| trial["boot_s"] || 0 }
  def warmups_s = all.sum { |trial| trial.dig("warmup", "seconds") || 0 }
  # For the server to become quiet, for last answers, for hooks and for the server's end; nil where trials do not say.
  def waited_s = all.sum { |trial| trial.fetch("beside") { return nil }.values.sum }
  # Powerband's own: what it reads and works out in trials, and all that it does before, between and after them.
  def own_s = waited_s && (seconds - starts_s - warmups_s - windows_s - waited_s)

  # Good answers a second at full load, by configuration as it was asked for, in the order of these.
  def capacities(asked)
    good = measuring.select { |trial| trial["saturation"] && trial["status"] != "failed" }
    by_arm = good.group_by { |trial| names(asked)[trial["arm"]] }
    by_arm.transform_values { |trials| trials.map { |trial| trial.dig("saturation", "good_per_s") } }
  end

  # What the tool calls them; its rows are in the order of the words that it was given.
  def names(asked) = documents.first.fetch("arms").map { |row| row["name"] }.zip(asked).to_h

  private

  def window(trial, which) = trial.dig(which, "seconds") || 0
end
