# frozen_string_literal: true

require "csv"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband inspect` on what the agent recorded in real servers, while they run and after they were killed.
class InspectTest < PowerbandTest
  include Servers

  # Held time is CPU time of the thread and waiting is a sleep, so that neither can come out smaller.
  def test_the_split_is_what_arithmetic_says
    shares = { "cpu" => [5, 0], "mixed" => [5, 15], "io" => [0.3, 30] }.to_h do |app, (held, waiting)|
      requests = recorded(app).fetch("requests")
      split = requests.fetch("split")
      assert_equal 20, requests["requests"]
      assert_operator split["held_ms"], :>=, held, app
      assert_operator split["io_ms"] + split["lock_wait_ms"].to_f, :>=, waiting * 0.999, app
      parts = split.values_at("held_ms", "gvl_wait_ms", "lock_wait_ms", "io_ms").sum(&:to_f)
      assert_in_epsilon requests.dig("wall", "mean_ms"), parts, 0.001, app
      assert_in_epsilon 1 + (split["io_ms"] / split["held_ms"]), split["useful_threads"], 1e-9, app
      [app, split["io_share_of_work"]]
    end
    assert_equal %w[cpu mixed io], shares.sort_by(&:last).map(&:first), shares
  end

  def test_a_server_that_was_killed_is_read_as_it_was
    site = served("mixed")
    alive = inspected(@flight)
    assert_equal ["live"], states(alive)
    site.started.signal(:KILL)
    finish(site.started)
    dead = inspected(@flight)
    assert_equal ["died"], states(dead)
    %w[requests errors wall split].each { |part| assert_equal alive["requests"][part], dead["requests"][part], part }
  end

  def test_the_page_the_rows_and_the_default_folder
    stop(served("mixed"))
    page = powerband("inspect", env: { "POWERBAND_DIR" => @flight })
    assert_equal 0, page.code, page.to_s
    ["Where a request's time goes", "GVL held", "Requests by endpoint", "Amdahl", "T* = 1 + I/O / held", "Rule of thumb"]
      .each { |words| assert_includes page.out, words }
    page.out.lines.each { |line| assert_operator line.chomp.length, :<=, 100, line }
    rows = CSV.parse(powerband("inspect", "--csv", @flight).out, headers: true)
    assert_equal ["GET /"], rows.map { |row| row["name"] }
    assert_equal "20", rows.first["requests"]
  end

  def test_redmine
    @flight = File.join(@dir, "flight")
    site = redmine(before: injected)
    3.times { assert_equal "200", site.get("/projects").code }
    stop(site)
    document = inspected(@flight)
    assert_includes document["endpoints"].map { |e| e["name"] }, "projects#index"
  end

  def test_what_is_not_there
    empty = File.join(@dir, "empty")
    Dir.mkdir(empty)
    assert_refused powerband("inspect", File.join(@dir, "no")), 2, /no: No such file/, /name a folder of flight files/
    assert_refused powerband("inspect", empty), 3, /no flight file in .*empty/
    assert_refused powerband("inspect", env: { "POWERBAND_DIR" => File.join(@dir, "no") }), 3, /no agent has written/
    assert_refused powerband("inspect", "--last", "10"), 2, /--last = "10"/, /e\.g\. 10m/
    assert_refused powerband("inspect", "--since", "noon"), 2, /--since = "noon"/
    foreign = File.join(empty, "a.flight")
    File.write(foreign, "GIF89a")
    assert_refused powerband("inspect", foreign), 3, /a\.flight: not a flight file/
  end

  private

  def injected
    [BINARY, "run", "--flight-dir", @flight, "--"]
  end

  # A server of one thread that has answered twenty requests, one after the other, and still runs.
  def served(app)
    @flight = File.join(@dir, "flight-#{app}")
    site = puma(File.join(APPS, app), before: injected, threads: 1)
    20.times { assert_equal "200", site.get("/").code }
    await("the last request's record") { inspected(@flight).dig("requests", "requests") == 20 }
    site
  end

  def recorded(app)
    stop(served(app))
    inspected(@flight, valid: true)
  end

  def inspected(*words, valid: false)
    ended = powerband("inspect", "--json", *words)
    return {} if ended.code == 3

    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "inspect-v1") if valid
    JSON.parse(ended.out)
  end

  def states(document)
    document["processes"].map { |process| process["state"] }
  end
end
