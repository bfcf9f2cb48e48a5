# frozen_string_literal: true

require_relative "support/powerband"

# `--age`: memory after as many requests in every trial, of real Pumas that keep a part of each, up to a plateau or without end.
class AgedTest < PowerbandTest
  parallelize_me!

  REQUESTS = 2_000
  # At most 200 requests a second, so that warm-up and windows answer fewer than half of them; 60 KiB of each.
  WORDS = %W[--env WAIT_MS=10 --env LEAK_KIB=60 --age #{REQUESTS / 1000}k-requests --margin 10% --blocks 6].freeze
  PLATEAU = "threads=2,env.LEAK_REQUESTS=500"
  ENDLESS = "threads=2,env.LEAK_REQUESTS=1000000"

  def test_memory_is_compared_at_equal_counts_and_a_plateau_is_told_from_a_leak
    page = File.join(@dir, "table.md")
    ended = aged("compare", PLATEAU, ENDLESS, "--markdown", page, within: 500)
    assert_equal REQUESTS, document.dig("plan", "age", "requests")
    assert_valid_run_document File.read(File.join(run_folders.fetch(0), "run.json"))
    pilot, blocks = document.fetch("trials").partition { |trial| trial["stage"] == "pilot" }
    blocks.each { |trial| assert_was_aged trial }
    assert_equal ["the last trial of the pilot is not aged"], pilot.map { |trial| trial.dig("memory", "aged", "why_not") }
    assert_empty pilot.filter_map { |trial| trial.dig("memory", "aged", "pss_bytes") }
    plateau, endless = document.fetch("arms").map { |arm| arm.fetch("aged") }
    assert_equal %w[flat growing], [plateau, endless].map { |arm| arm.dig("late_growth", "course") }, ended.to_s
    assert_compared document.fetch("memory").fetch(0)
    low, high = plateau.dig("fits", "interval")
    assert_operator low, :<=, plateau.dig("fits", "processes")
    assert_operator high, :>=, plateau.dig("fits", "processes")
    assert_operator plateau.dig("fits", "processes"), :>, endless.dig("fits", "processes")
    [ended.out, File.read(page)].each { |text| assert_said text }
    assert_nothing_left_running
  end

  # The pilot tells how long it would take, and nothing is aged for it.
  def test_a_budget_without_room_for_it_is_refused_with_both_remedies
    ended = aged("compare", PLATEAU, ENDLESS, "--age", "1M", "--budget", "4m", within: 200)
    assert_refused ended, 2, /--budget = "4m": with --age a trial answers 1,000,000 requests, which takes \d+ s at the \d+/,
                   /give --budget \w+ or more, or an --age of at most \d+/
    assert_equal [0.0], document.fetch("trials").map { |trial| trial.dig("memory", "aged", "seconds") }
  end

  def test_what_is_refused
    assert_refused aged("compare", PLATEAU, ENDLESS, "--age", "1h"), 2, /--age = "1h": no number of requests; give/
    assert_refused aged("compare", PLATEAU, ENDLESS, "--age", "10"), 2, /--age = "10": 10 requests are out of range/
    assert_refused powerband("capacity", "--slo", "p99=1s", "--age", "20k"), 2, /--age = "20k": capacity compares no memory/
    assert_refused powerband("predict", "--age", "20k"), 2, /--age/
    assert_no_run_folder
  end

  private

  # What is given last counts.
  def aged(verb, *words, **options)
    said = words.include?("--age") ? WORDS - WORDS[4, 2] : WORDS
    _, *rest = experiment(verb, *words, *said, app: "leaky")
    measured(*rest, **options)
  end

  def assert_was_aged(trial)
    memory = trial.fetch("memory")
    aged = memory.fetch("aged")
    assert_equal REQUESTS, aged["requests"], aged
    samples = memory["samples"] + aged["samples"]
    counts = samples.map { |sample| sample["requests"] }
    assert_equal counts.sort, counts
    assert_operator counts.last, :>, REQUESTS * 0.9
    assert_operator aged["pss_bytes"], :>=, aged["samples"].filter_map { |sample| sample["pss_bytes"] }.max
    assert_operator aged["process_bytes"], :<=, aged["pss_bytes"]
  end

  # 60 KiB of 1,500 requests more are 88 MiB; the windows show a part of it.
  def assert_compared(memory)
    assert_equal "worse", memory["outcome"], memory
    trials = document.fetch("trials").reject { |trial| trial["stage"] == "pilot" }
    means = trials.group_by { |trial| trial["arm"] }.values.map do |mine|
      mine.sum { |trial| trial.dig("memory", "aged", "pss_bytes") } / mine.size
    end
    assert_in_delta 1_500 * 60 * 1024, (means.last - means.first).abs, 30_000_000
  end

  def assert_said(text)
    flat = text.gsub(/\s+/, " ")
    assert_match(/Memory when aged/, text)
    assert_match(/has answered 2,000 requests in the trial/, flat)
    assert_match(/still grows/, flat)
    assert_match(/fit into .* of the machine's memory, at this age/, flat)
  end
end
