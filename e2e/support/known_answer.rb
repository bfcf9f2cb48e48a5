# frozen_string_literal: true

require_relative "powerband"

# Tunes one of the purpose-made applications, whose best thread count follows from arithmetic.
class KnownAnswerTest < PowerbandTest
  # The document of a run in one process whose only knob is the thread count.
  def tuned(app, threads:, baseline:, arms:, window: "1500ms", workers: "0", env: {})
    settings = env.flat_map { |key, value| ["--env", "#{key}=#{value}"] }
    ended = powerband("tune", "--app", File.join(APPS, app), "--path", "/", "--workers", workers, "--threads", threads,
                      "--baseline", baseline, "--max-arms", arms, "--blocks", 6, "--window", window, "--budget", "30m",
                      "--seed", 1, "--runs", @dir, "--json", "--quiet", *settings, within: 900)
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

  # What a failed test has to show.
  def story
    rows = @document["arms"].map { |arm| "#{arm['name']}: #{arm['capacity_per_s']&.round(1)}/s, #{arm['fate']}" }
    [@document["verdict"]["sentence"], *rows].join("\n")
  end
end
