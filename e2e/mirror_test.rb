# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/mirrors"

# `powerband mirror` between real Pumas: clients get what the primary gives, shadows get the same, and what is recorded can be
# sent again.
class MirrorTest < PowerbandTest
  parallelize_me!

  include Mirrors

  def test_clients_get_the_primarys_answers_and_shadows_the_same_requests
    primary, shadow = Array.new(2) { puma(app("traced")) }
    mirror = mirror(primary, "--shadow", "new=#{shadow.url.chomp('/')}")
    direct = Net::HTTP.get_response(URI(primary.url("/some?page=2")))
    through = Net::HTTP.get_response(URI(mirror.url("/some?page=2")))
    assert_equal direct.code, through.code
    assert_equal direct.body, through.body
    assert_equal direct.each_header.to_h.except("date"), through.each_header.to_h.except("date")
    40.times { Net::HTTP.get(URI(mirror.url("/some?page=3"))) }
    Net::HTTP.post(URI(mirror.url("/orders")), "item=3")
    shadow = await("every copy answered") do
      mirror.counts["shadows"].find { |one| one.values_at("sampled", "answered") == [41, 41] }
    end
    assert_equal [{}, {}, 0], shadow.values_at("failed", "dropped", "pending"), "POST went to the primary alone"
    assert_equal [42, 42, 0, 0], mirror.counts.values_at("received", "answered", "failed", "aborted")
    assert_match(/^powerband_mirror_shadow_answered_total\{shadow="new"\} 41$/, mirror.metrics)
    ended = stop(mirror)
    assert_equal 3, ended.code, "41 pairs decide nothing: #{ended}"
    assert_match(/since the start: 42 requests: 42 answered, 0 failed by the primary, 0 left by their clients/, ended.err)
    assert_match(/new/, ended.out)
  end

  def test_whatever_a_shadow_does_clients_are_served
    primary = puma(app("hello"))
    silent = TCPServer.new("127.0.0.1", 0)
    shadows = { "dead" => free_port, "hung" => silent.addr[1] }.flat_map { |name, at| ["--shadow", "#{name}=http://127.0.0.1:#{at}"] }
    mirror = mirror(primary, *shadows, "--deadline", "500ms", "--queue", "2", "--shadow-connections", "2")
    document = loaded(mirror.url, 300)
    assert_equal [300, 0], document["counts"].values_at("answered", "failed")
    await("all in their places") { mirror.counts["shadows"].all? { |one| one["pending"].zero? } }
    shadows = mirror.counts["shadows"]
    shadows.each { |one| assert_accounted(one) }
    hung = shadows.find { |one| one["name"] == "hung" }
    assert_operator hung["failed"].fetch("deadline"), :>, 0
    assert_operator hung["dropped"].fetch("queue_full"), :>, 0
    assert_operator shadows.find { |one| one["name"] == "dead" }["dropped"].fetch("unreachable"), :>, 0
  ensure
    silent&.close
  end

  def test_a_shadow_that_hangs_holds_up_the_end_for_its_deadline_alone
    hung = TCPServer.new("127.0.0.1", 0)
    mirror = mirror(puma(app("hello")), "--shadow", "hung=http://127.0.0.1:#{hung.addr[1]}")
    assert_equal "hello\n", Net::HTTP.get(URI(mirror.url))
    await("the copy", of: mirror.started) { hung.wait_readable(0) }
    copy = hung.accept
    mirror.started.signal(:TERM)
    # It gives the copy up and ends by itself.
    ended = finish(mirror.started, within: 3 * ENDING.values.sum)
    assert_match(%r{\AGET / HTTP/1.1\r\n}, copy.read)
    assert_equal 3, ended.code, "nothing could be compared: #{ended}"
    assert_match(/hung: 1 copies, 0 answered; failed: 1 deadline/, ended.err)
    assert_match(/\bhung\b/, ended.out, "the comparison is printed")
  ensure
    [copy, hung].compact.each(&:close)
  end

  def test_a_recording_holds_the_traffic_without_its_secrets_and_can_be_sent_again
    primary = puma(app("hello"))
    file = File.join(@dir, "traffic.pbc")
    mirror = mirror(primary, "--record", file)
    20.times { |page| Net::HTTP.get(URI(mirror.url("/page/#{page}?token=opensesame")), { "Cookie" => "session=opensesame" }) }
    Net::HTTP.post(URI(mirror.url("/login")), "name=eva&password=opensesame")
    assert_equal 0, stop(mirror).code
    assert_equal 0o600, File.stat(file).mode & 0o777
    info = powerband("capture", "info", file, "--json")
    assert_equal 0, info.code, info.to_s
    assert_equal 21, JSON.parse(info.out).fetch("requests")
    gor = File.join(@dir, "traffic.gor")
    assert_equal 0, powerband("capture", "convert", file, "--to", "gor", "-o", gor).code
    refute_includes File.binread(gor), "opensesame"
    again = powerband("load", primary.url, "--replay", file, "--speed", "4x", "--allow-unsafe", "--json", "--quiet")
    assert_includes [0, 3], again.code, again.to_s
    assert_equal [21, 21], JSON.parse(again.out)["counts"].values_at("sent", "answered")
  end

  def test_a_recording_leaves_out_what_the_application_filters
    file, filter, gor = %w[traffic.pbc filter.rb traffic.gor].map { |name| File.join(@dir, name) }
    File.write(filter, "Rails.application.config.filter_parameters += [/nick/]\n")
    ended = powerband("mirror", "--listen", "127.0.0.1:0", "--primary", "http://127.0.0.1:1", "--record", file,
                      "--filter-parameters", filter)
    assert_refused ended, 2, /--filter-parameters = "#{filter}": line 1: only literal symbols and strings are read.*--redact/

    File.write(filter, "Rails.application.config.filter_parameters += [:passw, :nickname]\n")
    mirror = mirror(puma(app("hello")), "--record", file, "--filter-parameters", filter)
    Net::HTTP.get(URI(mirror.url("/page?nickname=opensesame&quantity=2")))
    Net::HTTP.post(URI(mirror.url("/form")), "user[nickname]=opensesame&quantity=3")
    assert_equal 0, stop(mirror).code
    assert_equal 0, powerband("capture", "convert", file, "--to", "gor", "-o", gor).code
    recorded = File.binread(gor)
    refute_includes recorded, "opensesame"
    ["nickname=REDACTED", "quantity=2", "quantity=3"].each { |kept| assert_includes recorded, kept }
  end

  def test_a_mirror_that_is_killed_loses_its_last_block_at_most
    primary = puma(app("hello"))
    file = File.join(@dir, "traffic.pbc")
    mirror = mirror(primary, "--record", file)
    loaded(mirror.url, 200)
    await("a block on disk") { File.size(file) > 4096 || mirror.status.dig("written", "recording", "records") == 200 }
    loaded(mirror.url, 50)
    mirror.started.signal(:KILL)
    finish(mirror.started)
    info = powerband("capture", "info", file, "--json")
    assert_equal 0, info.code, info.to_s
    assert_operator JSON.parse(info.out).fetch("requests"), :>=, 200
  end

  def test_a_reload_drops_no_connection
    primary, shadow = Array.new(2) { puma(app("hello")) }
    config = File.join(@dir, "mirror.toml")
    File.write(config, "primary = \"#{primary.url.chomp('/')}\"\n")
    mirror = mirror(nil, "--config", config)
    Net::HTTP.start("127.0.0.1", mirror.port) do |client|
      assert_equal "hello\n", client.get("/").body
      File.write(config, "[shadow.new]\nurl = \"#{shadow.url.chomp('/')}\"\n", mode: "a")
      mirror.started.signal(:HUP)
      await("the shadow") { mirror.counts["shadows"].any? }
      assert_equal "hello\n", client.get("/").body
      assert_equal 1, mirror.counts["open"], "the same connection"
      await("its copy") { mirror.counts["shadows"].fetch(0)["answered"] == 1 }
      File.write(config, "primary = \"nonsense\"\n")
      mirror.started.signal(:HUP)
      await("a refusal", of: mirror.started) { mirror.started.err.include?("stays as it was") }
      assert_equal "hello\n", client.get("/").body
    end
  end

  def test_every_mistake_is_told_at_once
    ended = powerband("mirror", "--listen", "nowhere", "--primary", "ftp://x", "--shadow", "a", "--sample", "0%", "--path", "(",
                      "--set-header", "Content-Length: 3", "--shadow", "b=http://127.0.0.1:1/path")
    assert_refused ended, 2, /--listen = "nowhere"/, /--primary = "ftp:/, /--shadow = "a"/, /--sample = "0%"/, /--path = "\("/,
                   /--set-header = "Content-Length: …"/, /it has a path/
  end

  def test_a_port_that_is_taken
    TCPServer.open("127.0.0.1", 0) do |taken|
      ended = powerband("mirror", "--listen", "127.0.0.1:#{taken.addr[1]}", "--primary", "http://127.0.0.1:1")
      assert_refused ended, 2, /cannot listen on 127.0.0.1:#{taken.addr[1]}/
    end
  end

  private

  def app(name) = File.join(APPS, name)

  def loaded(url, requests)
    ended = powerband("load", url, "-n", requests, "-c", 4, "--json", "--quiet")
    assert_includes [0, 3], ended.code, ended.to_s
    JSON.parse(ended.out)
  end

  def assert_accounted(shadow)
    ended = shadow["answered"] + shadow["failed"].values.sum + shadow["dropped"].values.sum
    assert_equal shadow["sampled"], ended, shadow.to_s
  end
end
