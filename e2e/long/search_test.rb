# frozen_string_literal: true

require_relative "../support/powerband"

# `tune --knobs`: threads, workers and other knobs searched together.
class SearchedKnobsTest < PowerbandTest
  def test_an_application_whose_knob_matters_gets_it
    File.write(File.join(@dir, "config.ru"), <<~RUBY)
      cost = ENV["FAST"] == "yes" ? 0.002 : 0.02
      run(lambda do |_env|
        sleep(cost)
        [200, { "content-type" => "text/plain" }, ["done"]]
      end)
    RUBY
    ended = measured("tune", "--app", @dir, "--runs", runs, "--budget", "3m", "--window", "500ms", "--blocks", "6",
                     "--baseline", "threads=1", "--threads", "1,2", "--workers", "0", "--knobs", "env.FAST=yes",
                     "--knobs", "env.IDLE=yes", "--json", within: 300)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_run_document ended.out
    document = JSON.parse(ended.out)
    verdict = document.fetch("verdict")
    assert_equal "change", verdict.fetch("answer"), ended.to_s
    winner = document.fetch("arms").find { |arm| arm["name"] == verdict["arm"] }
    assert_includes winner.fetch("environment").map { |set| set.values_at("knob", "value") }, %w[env.FAST yes]
    # The application has no dotenv gem, so a line in .env would be read by nothing.
    assert_equal(["config/puma.rb"], verdict.fetch("changes").map { |change| change["path"] })
    assert_match(/^variables: set where the server is started .*\bFAST=yes\b/, verdict.fetch("by_hand").join("\n"))
    each_change_by_itself(verdict, winner)
    searched(document.fetch("search"), document.fetch("trials").size)
  end

  # Two workers are one more than the rate needs.
  def test_the_fewest_processes_that_carry_a_rate
    ended = measured("tune", "--app", File.join(APPS, "io"), "--path", "/", "--runs", runs, "--budget", "4m", "--window", "500ms",
                     "--blocks", "6", "--baseline", "workers=2,threads=5", "--threads", "3,5", "--workers", "0,2",
                     "--least", "processes", "--rate", "40", "--slo", "p90=500ms", "--json", within: 400)
    assert_equal 0, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    assert_equal "processes", document.dig("plan", "objective", "least")
    assert_equal ["change", 0], [document.dig("verdict", "answer"), document.dig("verdict", "settings", "workers")], ended.to_s
    assert_match(/runs 50 % fewer processes than 2 workers/, document.dig("verdict", "sentence"))
    confirmed = document.fetch("comparisons").find { |one| one["stage"] == "confirm" }
    assert_equal ["processes", "better", 0.5], confirmed.values_at("metric", "outcome", "ratio")
  end

  private

  # Whatever the answer changes has a measured row, or a sentence that says why it has none.
  def each_change_by_itself(verdict, winner)
    knobs = winner.fetch("environment", []).map { |set| set["knob"] }
    knobs << "threads" unless winner.dig("settings", "threads") == 1
    measured = verdict.fetch("path").select { |step| step["measured"] }.map { |step| step["knob"] }
    open = knobs - measured
    assert_equal open.size, verdict.fetch("not_isolated", []).size, verdict.inspect
    assert_includes measured, "env.FAST"
  end

  def searched(search, trials)
    assert_equal %w[env.FAST env.IDLE], search.fetch("knobs").map { |knob| knob["knob"] }
    assert_operator search.fetch("stages").sum { |stage| stage["trials"] }, :<=, search.fetch("planned_trials")
    assert_operator search.fetch("stages").sum { |stage| stage["trials"] }, :<, trials
    assert_equal "confirm", search.fetch("stages").last.fetch("stage")
  end
end
