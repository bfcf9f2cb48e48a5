# frozen_string_literal: true

require_relative "../support/powerband"
require_relative "../../experiments/support/passenger"

# `tune` on servers whose processes serve one request at a time: while one waits for 40 ms, another can be served. In Falcon that
# is so where the wait is not left to its scheduler.
class OneRequestAProcessTest < PowerbandTest
  def test_unicorn_behind_nginx
    Dir.mkdir(File.join(@dir, "config"))
    File.write(File.join(@dir, "config/unicorn.rb"), "worker_processes 1 # as it was\n")
    document = tuned("unicorn", "nginx.workers=2", <<~TOML)
      front = "nginx"
      [files]
      systemd_unit = "powerband-has-no-such-unit"
      nginx = "nginx.conf"
    TOML
    assert_equal({ "workers" => 1, "threads" => 1, "preload" => false }, document.dig("plan", "baseline"))
    diffs = document.dig("verdict", "changes").to_h { |change| change.values_at("path", "diff") }
    assert_match(/^-worker_processes 1 # as it was\n\+worker_processes 4 # as it was$/, diffs.fetch("config/unicorn.rb"))
    unit = diffs.fetch("/etc/systemd/system/powerband-has-no-such-unit.service.d/powerband.conf")
    assert_match(%r{\A--- a/etc/systemd/system/}, unit)
    assert_match(/^\+Environment="WEB_CONCURRENCY=4"$/, unit)
    refute_includes diffs, "config/puma.rb"
  end

  def test_pitchfork
    skip_without "pitchfork"
    Dir.mkdir(File.join(@dir, "config"))
    File.write(File.join(@dir, "config/pitchfork.rb"), "worker_processes 1 # as it was\n")
    document = tuned("pitchfork", 'pitchfork.refork_after="50,5000"', "")
    assert_equal({ "workers" => 1, "threads" => 1, "preload" => true }, document.dig("plan", "baseline"))
    diffs = document.dig("verdict", "changes").to_h { |change| change.values_at("path", "diff") }
    assert_match(/^-worker_processes 1 # as it was\n\+worker_processes 4 # as it was$/, diffs.fetch("config/pitchfork.rb"))
    refute_match(/preload/, diffs.fetch("config/pitchfork.rb"))
  end

  def test_falcon
    skip_without "falcon"
    document = tuned("falcon", nil, "[baseline]\nworkers = 1\n", wait: "Fiber.blocking { sleep 0.04 }")
    assert_nil document["model"], "nothing is predicted"
    assert_includes document.dig("verdict", "by_hand").join("\n"), "`falcon serve --count 4`"
  end

  def test_passenger
    skip Passenger.forbidden if Passenger.forbidden
    document = tuned("passenger", "passenger.max_request_queue_size=200", <<~TOML)
      [baseline]
      workers = 1
    TOML
    diffs = document.dig("verdict", "changes").to_h { |change| change.values_at("path", "diff") }
    assert_match(/^\+  PassengerMaxPoolSize 4$/, diffs.fetch("passenger.conf"))
    assert_match(/passenger\.conf: name Apache's configuration/, document.dig("verdict", "by_hand").join("\n"))
  end

  private

  # Four processes carry four times what one does.
  def tuned(kind, knob, rest, wait: "sleep 0.04")
    File.write(File.join(@dir, "config.ru"), "run ->(_env) { #{wait}; [200, {}, ['done']] }\n")
    File.write(File.join(@dir, "nginx.conf"), "worker_processes 1;\nevents {}\nhttp {}\n")
    File.write(File.join(@dir, "powerband.toml"), "[app]\ndir = '.'\n[server]\nkind = '#{kind}'\n#{rest}")
    ended = measured("tune", "--config", File.join(@dir, "powerband.toml"), "--runs", runs, "--budget", "4m", "--window", "500ms",
                     "--blocks", "6", "--workers", "1,2,4", *(["--knobs", knob] if knob), "--json", within: 400)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_run_document ended.out
    document = JSON.parse(ended.out)
    verdict = document.fetch("verdict")
    assert_equal ["change", 4, 1], [verdict["answer"], *verdict["settings"].values_at("workers", "threads")], ended.to_s
    confirmed = document.fetch("comparisons").find { |one| one["stage"] == "confirm" }
    assert_equal "better", confirmed["outcome"], ended.to_s
    assert_operator confirmed["low"], :>, 2.0, ended.to_s
    document
  end
end
