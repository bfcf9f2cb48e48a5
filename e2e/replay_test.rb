# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/mirrors"

# What a replay of a recording measures: the recorded work, or another one.
class ReplayTest < PowerbandTest
  parallelize_me!

  include Mirrors

  def test_a_replay_without_its_sessions_is_found_out
    site, file = recorded(60) { |mirror| members(mirror, 20) }
    loaded, err = replayed(site, file)
    recorded = loaded.fetch("recorded")
    assert_equal [60, 20, 0, true], recorded.values_at("compared", "changed", "revalidated", "other_work")
    change = { "endpoint" => "GET /account", "recorded" => 200, "replayed" => 302, "answers" => 20 }
    assert_equal [change], recorded["changes"]
    said = %r{33\.3 % of the answers \(20 of 60\) .*GET /account 200 -> 302 \(20\); .*other work.*--keep Cookie}
    assert_match(said, err)
    page = powerband("load", site.url, "--replay", file, "--speed", "10x", "--assert", "errors=1%", "--quiet")
    assert_equal 3, page.code, page.to_s
    assert_match(said, page.out.tr("\n", " "))
    assert_match(/of other work than was recorded/, page.messages.grep(/errors/).join)

    stop(site)
    assert_refused compared(file), 3, %r{GET /account 200 -> 302}, /other work than was recorded/, /--keep Cookie/
  end

  def test_kept_cookies_are_replayed_and_named_wherever_the_file_is_read
    site, file = recorded(60, "--keep", "Cookie") { |mirror| members(mirror, 20) }
    assert_equal 0o600, File.stat(file).mode & 0o777
    loaded, err = replayed(site, file)
    assert_equal [60, 0], loaded["recorded"].values_at("compared", "changed")
    assert_match(/traffic\.pbc: .*unredacted values of Cookie/, err)
    info = powerband("capture", "info", file)
    assert_match(/unredacted values of Cookie/, info.out.tr("\n", " "))
    assert_equal ["Cookie"], JSON.parse(powerband("capture", "info", file, "--json").out).dig("origin", "unredacted")
    gor = File.join(@dir, "traffic.gor")
    converted = powerband("capture", "convert", file, "--to", "gor", "-o", gor)
    assert_match(/unredacted values of Cookie/, converted.err)
    clean = File.join(@dir, "clean.pbc")
    assert_equal 0, powerband("capture", "redact", file, "-o", clean).code
    refute_match(/unredacted/, powerband("capture", "info", clean).out)
    loaded, = replayed(site, clean)
    assert_equal 20, loaded["recorded"]["changed"]
  end

  def test_targets_in_utf_8_and_hosts_are_recorded_and_replayed
    site, file = recorded(3) do |mirror|
      target = "/hosted/städte?größe=日本".b
      3.times do
        answer = Socket.tcp("127.0.0.1", mirror.port) do |client|
          client.write("GET #{target} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n".b)
          client.read
        end
        assert_match(%r{\AHTTP/1\.1 200}, answer)
      end
    end
    loaded, err = replayed(site, file)
    assert_equal({ "403" => 3 }, loaded["statuses"])
    assert_match(/200 -> 403 \(3\).*--replay-host/, err)
    loaded, = replayed(site, file, "--replay-host")
    assert_equal [{ "200" => 3 }, [3, 0]], [loaded["statuses"], loaded["recorded"].values_at("compared", "changed")]
    gor = File.join(@dir, "traffic.gor")
    assert_equal 0, powerband("capture", "convert", file, "--to", "gor", "-o", gor).code
    loaded, = replayed(site, gor, "--replay-host")
    assert_equal({ "200" => 3 }, loaded["statuses"])

    stop(site)
    assert_refused compared(file), 3, /200 -> 403/, /--replay-host/
    rehearsed = compared(file, "--replay-host", "--rehearse", "--json")
    trials = JSON.parse(rehearsed.out).fetch("trials")
    assert_equal [0], trials.map { |trial| trial.dig("saturation", "errors") }.uniq, rehearsed.to_s
  end

  private

  # So many requests of what the block does, recorded.
  def recorded(requests, *flags)
    site = puma(File.join(APPS, "members"))
    file = File.join(@dir, "traffic.pbc")
    mirror = mirror(site, "--record", file, *flags)
    yield mirror
    ended = stop(mirror)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/unredacted values of Cookie/, ended.err) if flags.any?
    assert_equal requests, JSON.parse(powerband("capture", "info", file, "--json").out).fetch("requests")
    [site, file]
  end

  # A third of what logged-in users ask for needs their session.
  def members(mirror, rounds)
    Net::HTTP.start("127.0.0.1", mirror.port) do |client|
      rounds.times do
        ["/", "/account", "/products"].each { |path| assert_equal "200", client.get(path, "Cookie" => "session=eva").code }
      end
    end
  end

  def compared(file, *flags)
    words = experiment("compare", "threads=1", "threads=2", "--workload", file, "--quiet", *flags, app: "members")
    powerband(*words.drop(1), within: 120)
  end

  def replayed(site, file, *flags)
    ended = powerband("load", site.url, "--replay", file, "--speed", "10x", "--json", "--quiet", *flags)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_valid_document(ended.out, "load-v1")
    [JSON.parse(ended.out), ended.err]
  end
end
