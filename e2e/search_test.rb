# frozen_string_literal: true

require_relative "support/powerband"

# `tune --knobs`: threads, workers and other knobs searched together, and what may not be searched.
class SearchTest < PowerbandTest
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
    assert_match(/^\+FAST=yes$/, verdict.fetch("changes").map { |change| change["diff"] }.join)
    searched(document.fetch("search"), document.fetch("trials").size)
  end

  def test_what_cannot_be_searched_is_told
    knobs = ["threads=2", "yjit", "gc.malloc_limt=1MiB", "nginx.workers=2", "value.a=1"].flat_map { |knob| ["--knobs", knob] }
    ended = powerband("tune", "--app", File.expand_path("apps/io", __dir__), "--runs", runs, *knobs)
    assert_refused ended, 2, /--threads or --workers/, /no values/, /did you mean gc\.malloc_limit/,
                   /server\.front/, /placeholders are for compare and sweep/
    assert_no_run_folder
  end

  private

  def searched(search, trials)
    assert_equal %w[env.FAST env.IDLE], search.fetch("knobs").map { |knob| knob["knob"] }
    assert_operator search.fetch("stages").sum { |stage| stage["trials"] }, :<=, search.fetch("planned_trials")
    assert_operator search.fetch("stages").sum { |stage| stage["trials"] }, :<, trials
    assert_equal "confirm", search.fetch("stages").last.fetch("stage")
  end
end
