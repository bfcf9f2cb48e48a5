# frozen_string_literal: true

require "csv"
require_relative "support/powerband"
require_relative "support/watched"

# `powerband memory` on real Pumas: one that keeps what it is asked, one that does not; a command; what cannot be read.
class MemoryTest < PowerbandTest
  parallelize_me!

  include Watched

  def test_a_leak_grows_by_what_is_kept_and_malloc_has_it
    document = read_under_load("leaky", "LEAK_KIB" => "200")
    growth = document["growth"]
    assert_includes %w[growing warming_up], growth["course"], growth
    pace = growth.fetch("per_thousand_requests")
    # malloc may round up, and reuses what a collection frees.
    assert_operator pace["bytes"], :>, 100 * 1024 * 1000
    assert_operator pace["bytes"], :<, 400 * 1024 * 1000
    process = document["processes"].find { |one| one["last_heap"] }
    first, last = process.values_at("first", "last").map { |made| parts(made) }
    assert_operator last["malloc"] - first["malloc"], :>, last["ruby_heap"] - first["ruby_heap"]
    [first, last].zip(process.values_at("first", "last")).each do |made, whole|
      sample = process["samples"].find { |one| one["at_s"] == whole["at_s"] }
      assert_in_delta sample["rss_bytes"], made.values.sum, sample["rss_bytes"] * 0.2
    end
    assert_operator process["last_heap"]["pages"], :>, 10
    assert_equal [40, 80, 160, 320, 640], process["last_heap"]["pools"].map { |pool| pool["slot_bytes"] }
  end

  # Its warm-up may last longer than the readings, and then it grows; by requests it gains a hundredth of what the leak keeps.
  def test_a_server_that_keeps_nothing_gains_little_by_requests
    document = read_under_load("hello")
    assert_operator document["growth"].fetch("per_thousand_requests")["bytes"], :<, 2 * 1024 * 1000
    requests = document["samples"].map { |sample| sample["requests"] }
    assert_operator requests.last, :>, requests.first
    sample = document["samples"].first
    assert_equal sample["rss_bytes"], sample.values_at("anonymous_bytes", "file_bytes", "shared_bytes").sum
    assert_operator sample["uss_bytes"], :<=, sample["pss_bytes"]
    assert_operator sample["pss_bytes"], :<=, sample["rss_bytes"]
  end

  # A cluster without the agent; a worker that is killed is replaced by another.
  def test_a_tree_by_its_process_whose_worker_is_replaced
    site = puma(File.join(APPS, "hello"), "-w", "2")
    pid = site.started.pid
    await("two workers") { children(pid).length == 2 }
    reading = start(BINARY, "memory", "--pid", pid, "--for", "60s", "--interval", "200ms", "--json", "--csv", "rows.csv")
    await("the first reading", of: reading) { reading.err.include?("reading the memory of 3 processes for 1m") }
    gone = children(pid).first
    Process.kill(:KILL, gone)
    await("another worker") { children(pid).length == 2 && !children(pid).include?(gone) }
    sleep 1 # a few readings more
    reading.signal(:INT)
    ended = finish(reading)
    assert_equal 130, ended.code, ended.to_s
    assert_valid_document(ended.out, "memory-v1")
    document = JSON.parse(ended.out)
    assert_equal "interrupted", document["ending"]
    lives = document["processes"].to_h { |process| [process["pid"], process.values_at("began", "ended")] }
    assert_equal [false, true], lives.fetch(gone)
    assert_equal [[false, false], [false, false], [false, true], [true, false]], lives.values.sort_by(&:to_s)
    kinds = document["processes"].first["last"]["parts"].map { |part| part["of"] }
    assert_includes kinds, "malloc_and_ruby_heap"
    assert_operator document["processes"].last["last"]["shared_since_fork_bytes"], :>, 0
    rows = CSV.read(File.join(@dir, "rows.csv"), headers: true)
    assert_equal document["samples"].length, rows.count { |row| row["pid"] == "all" }
    assert_equal document["processes"].sum { |process| process["samples"].length } + document["samples"].length, rows.length
  ensure
    stop(site) if site
  end

  def test_a_command_is_read_from_its_start_to_its_end
    script = "kept = 'x' * 30_000_000; puts kept.length; sleep 1.5"
    ended = powerband("memory", "--interval", "100ms", "--json", "--", "ruby", "-e", script)
    assert_equal 0, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    assert_equal "processes_ended", document["ending"]
    assert_includes ended.err, "30000000"
    assert_operator document["samples"].map { |sample| sample["rss_bytes"] }.max, :>, 30_000_000
    assert_nothing_left_running

    failed = powerband("memory", "--", "ruby", "-e", "sleep 0.5; exit 7")
    assert_equal 0, failed.code, failed.to_s
    assert_match(/the command ended with .*7/, failed.out)
  end

  def test_pages_and_a_comparison
    sample = File.join(ROOT, "contract/samples/memory/cluster.json")
    compared = powerband("memory", "--compare", sample, sample)
    assert_equal 0, compared.code, compared.to_s
    assert_includes compared.out, "not clearly different"
    html = File.join(@dir, "page.html")
    assert_equal 0, powerband("report", sample, "--html=#{html}").code
    assert_includes File.read(html), "Memory over time"
    other = File.join(ROOT, "contract/samples/doctor/application.json")
    assert_refused powerband("memory", "--compare", sample, other), 2, /it is another document/
  end

  def test_what_is_refused
    none = powerband("memory", "--pid", "4194305", "--for", "2s")
    assert_refused none, 2, /--pid = 4194305: process 4194305 does not run; name a running/
    assert_refused powerband("memory", "--for", "1", "--interval", "1ms"), 2, /--for = "1"/, /--interval = "1ms": out of range/
    assert_refused powerband("memory", File.join(@dir, "no")), 2, /no: No such file/
    sample = File.join(ROOT, "contract/samples/flight/wide.flight")
    assert_refused powerband("memory", sample), 3, /no server runs that writes to these flight files/, /powerband run -- CMD/
    assert_refused powerband("memory", "--json", "--csv", "-"), 2, /--csv = "-"/
    assert_refused powerband("memory", "--", "no-such-program"), 2, /no-such-program cannot be started: .*; is it installed/
  end

  private

  # Puma with the agent under one client.
  def read_under_load(app, env = {})
    ended = watched(env, app:) { powerband("memory", @flight, "--for", "8s", "--interval", "200ms", "--json") }
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "memory-v1")
    JSON.parse(ended.out)
  end

  def parts(made)
    made["parts"].to_h { |part| part.values_at("of", "rss_bytes") }
  end

  def children(pid)
    File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)
  end
end
