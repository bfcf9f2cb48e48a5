# frozen_string_literal: true

require "csv"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband inspect` on what the agent recorded in real servers, while they run and after they were killed.
class InspectTest < PowerbandTest
  parallelize_me!

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
    ["Where a request's time goes", "GVL held", "Requests by endpoint", "Ruby in one thread at a time"]
      .each { |words| assert_includes page.out.gsub(/\s+/, " "), words }
    formulas = ["Amdahl", "T* = 1 + I/O / held", "Rule of thumb"]
    formulas.each { |words| refute_includes page.out, words }
    full = powerband("inspect", "--full", env: { "POWERBAND_DIR" => @flight })
    formulas.each { |words| assert_includes full.out, words }
    page.out.lines.each { |line| assert_operator line.chomp.length, :<=, 100, line }
    rows = CSV.parse(powerband("inspect", "--csv", @flight).out, headers: true)
    assert_equal ["GET /"], rows.map { |row| row["name"] }
    assert_equal "20", rows.first["requests"]
  end

  # A request whose proxy says that it waited for two seconds; the page has as many columns as COLUMNS says.
  def test_the_queue_comes_first_and_the_page_fits
    site = served("mixed")
    at = (Time.now - 2).to_f
    20.times { Net::HTTP.get(URI(site.url("/")), { "X-Request-Start" => format("t=%.3f", at) }) }
    await("the last request's record") { inspected(@flight).dig("requests", "requests") == 40 }
    pages = %w[60 160].to_h { |columns| [columns, powerband("inspect", @flight, env: { "COLUMNS" => columns }).out] }
    pages.each do |columns, page|
      page.lines.each { |line| assert_operator line.chomp.length, :<=, columns.to_i, line }
      ["SQL really", "failed", "objects"].each { |column| assert_includes page, column, columns }
    end
    flat = pages["60"].split.join(" ")
    assert_match(/Memory \d+ MiB PSS now: process \(pid #{site.started.pid}\) \d+ MiB/, flat)
    assert_match(/A request waits [\d,.]+ ms before the application .* of the whole is queue time/, flat)
    assert_operator flat.index("A request waits"), :<, flat.index("of its time in the application")
    memory = inspected(@flight, valid: true).fetch("memory")
    assert_equal [site.started.pid], memory["processes"].map { |process| process["pid"] }
    assert_operator memory["total_bytes"], :>, 10 << 20
  ensure
    stop(site, :KILL) if site
  end

  def test_the_requests_between_two_readings
    site = served("mixed")
    saved = Array.new(2) { |i| File.join(@dir, "saved-#{i}") }
    assert_equal 0, powerband("inspect", @flight, "--save", saved[0]).code
    assert_equal 0o600, File.stat(saved[0]).mode & 0o777
    nothing = powerband("inspect", @flight, "--since", saved[0])
    assert_equal 3, nothing.code, nothing.to_s
    assert_match(/no request was recorded since \S+: 1 process, which is alive/, nothing.err)
    5.times { assert_equal "200", site.get("/").code }
    await("the last request's record") { inspected(@flight).dig("requests", "requests") == 25 }
    powerband("inspect", @flight, "--save", saved[1])
    stop(site, :KILL)
    site = nil
    [@flight, saved[1]].each do |later|
      between = inspected(later, "--since", saved[0])
      assert_equal 5, between.dig("requests", "requests"), later
      assert_equal [5], between["interval"]["processes"].map { |process| process["traffic"]["requests"] }
    end
    page = powerband("inspect", "--since", saved[0], @flight)
    text = page.out.split.join(" ")
    ["Processes: 0 continued, 1 ended", "Requests and jobs by process"].each { |words| assert_includes text, words }
  ensure
    stop(site, :KILL) if site
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
    assert_refused powerband("inspect", "--since", "noon"), 2, /--since = "noon": it is no file, and no instant/
    instants = %w[2025-11-21T16:00:00Z 2025-11-22T16:00:00Z].flat_map { |instant| ["--since", instant] }
    assert_refused powerband("inspect", *instants), 2, /an instant stands alone; give one instant, or files/
    sample = File.join(ROOT, "contract/samples/flight/wide.flight")
    assert_refused powerband("inspect", "--application", "/srv/none", sample), 3, %r{"/srv/none": the only process does not match}
    foreign = File.join(empty, "a.flight")
    File.write(foreign, "GIF89a")
    assert_refused powerband("inspect", foreign), 3, /a\.flight: not a flight file/
  end

  def test_the_application_of_the_current_folder_counts_among_several
    site = served("hello")
    pid = inspected(@flight).fetch("processes").first.fetch("pid")
    all = File.join(@dir, "all")
    own = File.join(all, Process.uid.to_s)
    FileUtils.mkdir_p(own, mode: 0o700)
    FileUtils.cp([*Dir[File.join(@flight, "**/*.flight")], File.join(ROOT, "contract/samples/flight/wide.flight")], own)
    counted = lambda do |chdir, *words|
      ended = powerband("inspect", "--json", *words, env: { "POWERBAND_DIR" => all }, chdir:)
      assert_equal 0, ended.code, ended.to_s
      JSON.parse(ended.out).then { |document| [document.dig("requests", "requests"), document.fetch("warnings").first] }
    end
    requests, note = counted.call(File.join(APPS, "hello"))
    assert_equal 20, requests
    assert_match(/of 2 applications, and this page counts the one of this folder, .*hello\. --application all counts all/, note)
    more, note = counted.call(File.join(APPS, "hello"), "--application", "all")
    assert_operator more, :>, 20
    assert_match(/all are counted together, .* --application #{Regexp.escape(File.join(APPS, "hello"))}/, note)
    requests, note = counted.call(File.join(APPS, "io"))
    assert_equal more, requests
    assert_match(/\ANo file is of the application in this folder: start its server with powerband run/, note)
    assert_equal 20, counted.call(@dir, "--pid", pid).first
  ensure
    stop(site) if site
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
