# frozen_string_literal: true

require_relative "support/powerband"

# `powerband leak` on real Pumas: seeded leaks found to their line, endpoint and path; caches; an application without a leak. The
# seeds of the requests are fixed: by chance, the halves of a search may differ so much that a leak is not surely one.
class LeakTest < PowerbandTest
  parallelize_me!

  STOREFRONT = File.join(ROOT, "examples/storefront")
  KEEPING = File.join(APPS, "keeping")

  def test_leaks_are_distinguished_from_caches
    pages = workload("/leak", "/paths", "/numbers", "/latest", "/pages", "/seen-at")
    ended = leak("--app", KEEPING, "--workload", pages, "--requests", "1200", "--seed", "1", "--json")
    assert_equal 1, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    assert_valid_document(ended.out, "leak-v1")
    assert_equal "leak", document["answer"]
    assert_equal 1200, document["requests_by_round"].sum
    leaks = by_name(document["leaks"])
    assert_equal %w[@numbers PATHS SEEN], leaks.keys.sort, ended.to_s
    assert_kept leaks["SEEN"], "Keeping", "SEEN", File.join(KEEPING, "config.ru"), /SEEN << \{/
    assert_left_by leaks["SEEN"], "GET /leak"
    assert_left_by leaks["PATHS"], "GET /paths"
    assert_equal "Keeping", leaks["@numbers"].dig("path", 0, "what")
    assert_empty leaks["@numbers"]["sites"]
    assert_equal leaks["@numbers"]["sizes"].sort, leaks["@numbers"]["sizes"]
    courses = by_name(document["others"]).slice("@pages", "@latest", "@seen_at").transform_values { |one| one["course"] }
    assert_equal({ "@pages" => "filling", "@latest" => "replaced", "@seen_at" => "replaced" }, courses, ended.to_s)
    assert_nothing_secret_left
  end

  def test_an_application_without_a_leak
    ended = leak("--app", File.join(APPS, "hello"), "--path", "/", "--requests", "600", "--keep-dump")
    assert_equal 0, ended.code, ended.to_s
    assert_match(/\ANo leak found: of 600 requests in 6 rounds nothing grows in every round\.$/, ended.out)
    dump = Dir[File.join(runs, "*/leak-*.dump")].fetch(0)
    assert_equal 0o600, File.stat(dump).mode & 0o777
    assert_nothing_left_running
  end

  def test_too_few_requests_that_leave_something_decide_nothing
    ended = leak("--app", KEEPING, "--workload", workload("/leak", "/one", "/another"), "--requests", "60", "--seed", "1")
    assert_equal 3, ended.code, ended.to_s
    said = ended.out.tr("\n", " ")
    assert_match(/\ANot decided: 60 requests in 6 rounds left objects in 1 place, .* Send more: --requests 1000\. /, said)
    assert_nothing_secret_left
  end

  def test_the_storefronts_seeded_leak_is_found_to_its_line
    ended = leak("--app", STOREFRONT, "--env", "STOREFRONT_LEAK=1", "--requests", "600", "--seed", "1", "--json", within: 300)
    assert_equal 1, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    leak = document["leaks"].fetch(0)
    assert_kept leak, "RecentlyViewed", "ENTRIES", File.join(STOREFRONT, "app/models/recently_viewed.rb"), /ENTRIES << \{/
    endpoint = leak["endpoints"].fetch(0)
    assert_equal "products#show", endpoint["name"]
    assert_equal endpoint["requests"], endpoint["leaving"]
    assert_equal 1, document["leaks"].length, ended.to_s
    page = powerband("report", run_folders.fetch(0)).out
    assert_match(/^Leak 1: RecentlyViewed::ENTRIES$/, page)
    assert_match(/^Made at +\S*recently_viewed\.rb:\d+ \(Hash\)\.$/, page)
    assert_nothing_secret_left
  end

  def test_what_is_refused
    ended = leak("--app", File.join(APPS, "hello"), "--path", "/", "--requests", "5", "--blocks", "6", "--slo", "p99=1s")
    assert_refused ended, 2, /--requests = "5": 5 is out of range/, /--blocks = "6": leak compares no configurations/,
                   /--slo = "p99=1s": leak checks no limit/
    assert_no_run_folder
  end

  # The whole folder goes, and with it what the server has written.
  def test_an_interrupted_search_leaves_no_dump
    started = start(BINARY, "leak", "--app", File.join(APPS, "hello"), "--path", "/", "--requests", "1000000", "--runs", runs)
    await("the log of the rounds", of: started) { Dir[File.join(runs, "*/flight/*/leak-*.jsonl")].any? }
    started.signal(:INT)
    ended = finish(started)
    assert_equal 130, ended.code, ended.to_s
    assert_empty Dir[File.join(runs, "**/leak-*")]
    assert_nothing_left_running
  end

  private

  def leak(*words, within: 150, **options)
    powerband("leak", *words, "--runs", runs, within: within, **options)
  end

  def workload(*paths)
    file = File.join(@dir, "workload.toml")
    File.write(file, paths.map { |path| "[[request]]\nname = \"#{path}\"\npath = \"#{path}\"\n" }.join)
    file
  end

  def by_name(found)
    found.to_h { |one| [one["path"].last["name"], one] }
  end

  # By each request of this endpoint, and by no other.
  def assert_left_by(leak, name)
    endpoints = leak["endpoints"]
    assert_equal [name], endpoints.map { |endpoint| endpoint["name"] }
    assert_equal(*endpoints.first.values_at("requests", "leaving"))
  end

  # Kept by this constant, and made at a line that looks like this.
  def assert_kept(leak, holder, name, file, code)
    holds = leak["path"].last(2)
    assert_equal [holder, name], [holds[0]["what"], holds[1]["name"]], leak["path"]
    made_at = leak["sites"].select { |site| site["directly"].positive? }.fetch(0).fetch("made_at")
    path, line = made_at.split(/:(\d+)\z/)
    # Of config.ru the path is relative.
    path = File.expand_path(path, File.dirname(file))
    assert_equal file, path
    assert_match code, File.readlines(path)[Integer(line) - 1]
    assert leak["sites"].fetch(0)["in_application"], leak["sites"]
  end

  def assert_nothing_secret_left
    assert_empty Dir[File.join(runs, "**/*.dump")]
    assert_nothing_left_running
  end
end
