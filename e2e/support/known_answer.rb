# frozen_string_literal: true

require_relative "powerband"

# Tunes one of the purpose-made applications, whose best thread count follows from arithmetic.
class KnownAnswerTest < PowerbandTest
  # Runs the block on the outcome; a claim that fails is tested once more from another seed, because every verdict has an
  # error rate and this machine has neighbours. Two runs in a row that miss the known answer are a defect.
  def known_answer(app, **how)
    tuned(app, seed: 1, **how)
    yield
  rescue Minitest::Assertion => e
    warn "#{app}, first of two runs: #{e.message}"
    tuned(app, seed: 2, **how)
    yield
  end

  # The document of a run in one process whose only knob is the thread count.
  def tuned(app, seed:, threads:, baseline:, arms:, window: "1500ms")
    ended = powerband("tune", "--app", File.join(APPS, app), "--path", "/", "--workers", 0, "--threads", threads,
                      "--baseline", baseline, "--max-arms", arms, "--blocks", 6, "--window", window, "--budget", "30m",
                      "--total-rate", "1000/s", "--server-cost", "90",
                      "--seed", seed, "--runs", @dir, "--json", "--quiet", within: 900)
    assert_includes [0, 3], ended.code, ended.to_s
    @document = JSON.parse(ended.out)
  end

  def chosen
    @document["verdict"]["settings"]
  end

  # The comparison that the claim rests on.
  def confirmed
    @document["comparisons"].find { |comparison| comparison["stage"] == "confirm" } || flunk("no confirmation: #{story}")
  end

  # The threads of the configuration that won the race, also where the confirmation found it no better than the baseline.
  def recommended
    @document["arms"].find { |arm| arm["name"] == confirmed["candidate"] }["settings"]["threads"]
  end

  # What a failed test has to show.
  def story
    rows = @document["arms"].map { |arm| "#{arm['name']}: #{arm['capacity_per_s']&.round(1)}/s, #{arm['fate']}" }
    [@document["verdict"]["sentence"], *rows].join("\n")
  end
end
