# frozen_string_literal: true

require_relative "support/kafka"
require_relative "support/nginx"
require_relative "support/powerband"

# Recorded traffic through a real Kafka: into a topic, out of it by generators that share it, and the sum of what they measured.
class KafkaTest < PowerbandTest
  parallelize_me!

  include Kafka
  include Nginx

  CONNECTIONS = 24
  EACH = 5
  REQUESTS = CONNECTIONS * EACH

  def test_two_generators_replay_a_topic_once_and_in_order
    node = kafka
    site = nginx
    url = recorded(node)
    info = JSON.parse(powerband("capture", "info", url, "--json").out)
    assert_equal [REQUESTS, CONNECTIONS], [info["requests"], info["connections"]]
    first = generator(site, url, "--amplify", 2)
    # It has read all partitions, and Kafka moves two of them to the second.
    await("the first to be ready", of: first) { first.err.include?("1 of 2 generators are ready; #{REQUESTS} of #{REQUESTS}") }
    generators = [first, generator(site, url, "--amplify", 2)]
    documents = generators.map { |one| JSON.parse(finished(one).out) }
    merged = honest(merge(url))
    assert_valid_document merged.out, "load-v1"
    document = JSON.parse(merged.out)
    asked = documents.map { |one| one["counts"]["asked"] }
    assert_predicate asked.min, :positive?, "each has a share"
    assert_equal [2 * REQUESTS] * 4, [asked.sum, document["counts"]["ok"], document["response"]["count"], site.lines.size]
    assert_equal [REQUESTS, 0], document["group"].values_at("requests", "lost")
    assert_equal [0, 1, 2, 3], document["group"]["generators"].flat_map { |one| one["partitions"] }.sort
    assert_each_in_order(site)
    again = finish(generator(site, url, generators: 1), within: 60)
    assert_equal 3, again.code, again.to_s
    assert_match(/has replayed all requests of the topic/, again.err)
    assert_equal 2 * REQUESTS, site.lines.size
  end

  def test_the_requests_of_a_killed_generator_are_lost_and_not_sent_again
    node = kafka
    site = nginx
    url = recorded(node, seconds: 6)
    killed, left = Array.new(2) { generator(site, url) }
    await("both to send", of: left) { site.lines.size > 20 }
    killed.signal(:KILL)
    finished(left)
    merged = merge(url)
    assert_equal 3, merged.code, merged.to_s
    document = JSON.parse(merged.out)
    lost = document["group"]["lost"]
    assert_predicate lost, :positive?
    assert_equal REQUESTS, lost + document["counts"]["asked"], "each request is counted once or lost"
    assert_equal %w[done missing], document["group"]["generators"].map { |one| one["ending"] }.sort
    assert_match(/#{lost} of #{REQUESTS} requests are lost: \S+ \(partitions \d, \d\) gave no result/, merged.err)
    sent = site.lines.size
    again = finish(generator(site, url, generators: 1), within: 60)
    assert_match(/has replayed all requests/, again.err)
    assert_equal sent, site.lines.size
  end

  def test_a_broker_that_is_killed_during_the_replay_gets_the_results_when_it_is_back
    node = kafka
    site = nginx
    url = recorded(node)
    generators = Array.new(2) { generator(site, url) }
    await("the replay", of: generators.first) { site.lines.any? }
    kill_kafka(node)
    await("all requests", of: generators.first) { site.lines.size == REQUESTS }
    run_kafka(node)
    generators.each { |one| finished(one) }
    document = JSON.parse(merge(url).out)
    assert_equal [REQUESTS, REQUESTS, 0], [document["counts"]["ok"], site.lines.size, document["group"]["lost"]]
  end

  def test_a_mirror_records_into_a_topic_and_counts_what_the_broker_does_not_take
    node = kafka
    site = nginx
    url = node.url("mirrored", partitions: 2)
    mirror = start(BINARY, "mirror", "--listen", "127.0.0.1:0", "--primary", site.url.chomp("/"), "--record", url)
    await("the mirror to listen", of: mirror) { mirror.err.include?("listening on") }
    port = mirror.err[/listening on \S+:(\d+)/, 1].to_i
    get = ->(path) { Net::HTTP.get_response(URI("http://127.0.0.1:#{port}#{path}"), "Authorization" => "Bearer hunter2") }
    5.times { |number| assert_equal "200", get["/?before=#{number}"].code }
    await("the records", of: mirror) { requests_of(url) == 5 }
    kill_kafka(node)
    assert_equal "200", get["/?during"].code, "clients do not wait for Kafka"
    run_kafka(node)
    await("the record of the time without a broker", of: mirror) { requests_of(url) == 6 }
    kill_kafka(node)
    3.times { |number| assert_equal "200", get["/?lost=#{number}"].code }
    mirror.signal(:TERM)
    finished(mirror)
    assert_match(/--record: 3 requests are not in kafka:/, mirror.err)
    run_kafka(node)
    assert_equal 6, requests_of(url), mirror.err
    gor = File.join(@dir, "all.gor")
    assert_equal 0, powerband("capture", "convert", url, "--to", "gor", "-o", gor).code
    assert_includes File.read(gor), "/?during"
    logs = Dir.glob("#{node.folder}/data/mirrored-*/*.log")
    refute_empty logs
    [gor, *logs].each { |file| refute_includes File.binread(file), "hunter2" }
  end

  def test_a_login_goes_over_verified_tls_and_into_no_document
    folder = File.join(@dir, "tls")
    FileUtils.mkdir_p(folder)
    certificate, key = self_signed(folder)
    pem = File.join(folder, "both.pem")
    File.write(pem, File.read(key) + File.read(certificate))
    node = kafka(tls: pem)
    site = nginx
    recorded(node)
    url = node.tls_url("traffic")
    login = File.join(folder, "login")
    File.write(login, "shop:#{Kafka::PASSWORD}\n")
    access = ["--kafka-login-file", login, "--kafka-ca", certificate]
    sent = finished(generator(site, url, *access, generators: 1))
    merged = powerband("load", "merge", url, "--group", "monday", "--json", *access)
    assert_equal REQUESTS, JSON.parse(merged.out)["counts"]["ok"], merged.to_s
    [sent, merged].each { |ended| refute_includes ended.to_s, Kafka::PASSWORD }
    unverified = powerband("capture", "info", url, "--kafka-login-file", login)
    assert_equal 3, unverified.code, unverified.to_s
    File.write(login, "shop:wrong")
    refused = powerband("capture", "info", url, *access)
    assert_equal 3, refused.code, refused.to_s
    assert_match(/check the address, the login/, refused.err)
  end

  def test_wrong_usage_is_said_before_a_broker_is_asked
    {
      ["load", "http://127.0.0.1:1/", "--replay", "kafka://127.0.0.1:1/t"] => /name one with --group NAME/,
      ["load", "http://127.0.0.1:1/", "--replay", "kafka://u:hunter2@127.0.0.1:1/t", "--group", "g"] => /--kafka-login-file/,
      ["load", "http://127.0.0.1:1/", "--group", "g"] => /--group means nothing here/,
      ["load", "http://127.0.0.1:1/", "--replay", "kafka://127.0.0.1:1/t", "--group", "g", "--duration", "1s", "-n", "5"] =>
        /--duration means nothing here: .*\n.*-n means nothing here/,
      ["load", "merge", "kafka://127.0.0.1:1/t"] => /give --group NAME/,
      ["capture", "convert", "x.pbc", "--to", "har", "-o", "kafka://127.0.0.1:1/t"] => /give --to pbc/,
      ["mirror", "--primary", "http://127.0.0.1:1", "--record", "kafka://127.0.0.1:1/t", "--rotate-every", "1h"] =>
        /leave --rotate-size/,
      ["mirror", "--primary", "http://127.0.0.1:1", "--record", "kafka://127.0.0.1:1/t", "--rotate-size", "1MiB", "--for", "x"] =>
        /--for = .*\n.*leave --rotate-size/,
      ["mirror", "--primary", "http://127.0.0.1:1", "--record", "kafka://127.0.0.1:1/t", "--record-limit", "1GiB"] =>
        /--record-limit is given, and no file is recorded/
    }.each do |words, said|
      ended = powerband(*words)
      assert_equal 2, ended.code, ended.to_s
      assert_match said, ended.err
      refute_includes ended.err, "hunter2"
    end
    gone = powerband("capture", "info", "kafka://127.0.0.1:1/t")
    assert_equal 3, gone.code, gone.to_s
  end

  private

  # A topic of four partitions. The paths say which connection a request is of, and its place there.
  def recorded(node, seconds: 2)
    filled(node, requests: REQUESTS, connections: CONNECTIONS, step_s: seconds.fdiv(REQUESTS), partitions: 4,
                 path: ->(number) { "/?#{number % CONNECTIONS}-#{number / CONNECTIONS}" })
  end

  def generator(site, url, *words, generators: 2)
    start(BINARY, "load", site.url, "--replay", url, "--group", "monday", "--generators", generators, "--gather", "60s", "--json",
          *words)
  end

  def finished(started) = honest(finish(started, within: 90))

  # On a busy host generators are late, which their documents say; the counts are as they should be.
  def honest(ended)
    late = ended.code == 3 && ended.err.include?("do not quote these figures: ")
    assert ended.code.zero? || late, ended.to_s
    ended
  end

  def merge(url) = powerband("load", "merge", url, "--group", "monday", "--json")

  def requests_of(url)
    info = powerband("capture", "info", url, "--json")
    info.code.zero? ? JSON.parse(info.out)["requests"] : 0
  end

  # The server's log has the requests of each connection in the order in which they were recorded.
  def assert_each_in_order(site)
    of = site.lines.filter_map { |line| line[/\?(\d+)-(\d+)/] && [Regexp.last_match(1), Regexp.last_match(2).to_i] }
    of.group_by(&:first).each_value { |all| assert_equal all.map(&:last).sort, all.map(&:last) }
  end
end
