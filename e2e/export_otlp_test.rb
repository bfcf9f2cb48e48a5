# frozen_string_literal: true

require "openssl"
require_relative "support/otlp_receiver"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband export --otlp`, decoded by a receiver that shares nothing with it.
class ExportOtlpTest < PowerbandTest
  parallelize_me!

  include Servers

  SAMPLES = Dir[File.join(ROOT, "contract/samples/flight/*.flight")]
  SERVICE = ["--service", "shop", "--resource", "service.version=42", "--opentelemetry"].freeze

  def setup
    super
    @folder = File.join(@dir, "flight")
    FileUtils.mkdir_p(@folder)
  end

  def teardown
    @receiver&.close
    super
  end

  # Each value of the text, under the names that OpenTelemetry has for it.
  def test_the_values_are_those_of_a_scrape
    FileUtils.cp(SAMPLES, @folder)
    receive
    assert_equal 0, pushed_once.code
    push = @receiver.push
    assert_equal "/otlp/v1/metrics", push.path
    assert_equal %w[shop 42], push.resource.values_at("service.name", "service.version")
    assert_equal [Socket.gethostname] * 2, push.resource.values_at("host.name", "service.instance.id")
    text = powerband("inspect", "--prometheus", "--opentelemetry", @folder).out
    series = push.metrics.flat_map { |name, metric| text_of(name, metric) }.reject { |line| line.include?("build_info") }
    assert_equal text.lines(chomp: true).grep_v(/^#/).sort, series.sort
    duration = push.metrics.fetch("http.server.request.duration")
    assert_equal ["s", :histogram, true], [duration.unit, duration.kind, duration.cumulative]
    assert_includes duration.points.first[:attributes].keys, "http.route"
  end

  def test_a_beginning_that_stays_until_counters_begin_anew
    FileUtils.cp(SAMPLES.first(2), @folder)
    receive
    exporter = pushing
    first = requests(@receiver.push)
    assert_in_delta made_ns(@folder), first[:start_ns], 1e3
    FileUtils.cp(SAMPLES.drop(2), @folder)
    more = until_requests(exporter) { |value| value > first[:value] }
    assert_equal first[:start_ns], more[:start_ns]
    # The exporter's restart is none of the counters.
    exporter.signal(:TERM)
    assert_equal 0, finish(exporter, within: 5).code
    @receiver.last_push
    exporter = pushing
    again = requests(@receiver.push)
    assert_equal more.values_at(:start_ns, :value), again.values_at(:start_ns, :value)
    FileUtils.rm(Dir[File.join(@folder, "*.flight")].drop(1))
    fewer = until_requests(exporter) { |value| value < more[:value] }
    assert_operator fewer[:start_ns], :>, again[:start_ns]
    assert_operator fewer[:start_ns], :<, fewer[:time_ns]
  end

  # One line when pushes begin to fail, and one when they succeed again; the secret in neither.
  def test_a_receiver_that_is_away
    FileUtils.cp(SAMPLES, @folder)
    port = free_port
    token = File.join(@dir, "token")
    File.write(token, "hunter2\n")
    exporter = pushing("--token-file", token, port:)
    await("the first failure", of: exporter) { exporter.err.lines.size == 1 }
    assert_match(/\Apowerband: --otlp: http:\S+: no answer: .*; it is tried again in 1s$/, exporter.err)
    receive(port:)
    assert_includes @receiver.push.headers, "authorization: Bearer hunter2"
    await("the second line", of: exporter) { exporter.err.lines.last == "powerband: --otlp: pushes succeed again\n" }
    # A secret may be replaced; a receiver that is too busy is let alone for as long as it asks.
    File.write(token, "hunter3")
    await("the new secret", of: exporter) { @receiver.push.headers.include?("authorization: Bearer hunter3") }
    @receiver.answer = "503 Service Unavailable\r\nRetry-After: 300\r\n"
    await("the third line", of: exporter) { exporter.err.lines.size == 3 }
    assert_match(/it answers 503 Service Unavailable; .*; it is tried again in 5m$/, exporter.err.lines.last)
    exporter.signal(:TERM)
    stopped = finish(exporter, within: 5)
    assert_equal [0, ""], [stopped.code, stopped.out]
    assert_match(/it answers 503 Service Unavailable; .*; it was the last push$/, stopped.err.lines.last)
    refute_match(/hunter/, stopped.err)
  end

  # Not only at each interval: what the servers counted since the last one is pushed before the exporter ends.
  def test_a_last_push_at_the_end
    FileUtils.cp(SAMPLES.first(2), @folder)
    receive
    exporter = start(BINARY, *words(nil, ["--interval", "1h"]))
    first = requests(@receiver.push)
    FileUtils.cp(SAMPLES.drop(2), @folder)
    exporter.signal(:TERM)
    assert_equal [0, ""], finish(exporter, within: 8).then { |stopped| [stopped.code, stopped.err] }
    assert_operator requests(@receiver.last_push)[:value], :>, first[:value]
  end

  def test_a_last_push_that_is_not_answered_is_given_up
    FileUtils.cp(SAMPLES, @folder)
    silent = TCPServer.new("127.0.0.1", 0)
    exporter = start(BINARY, *words(silent.addr[1], ["--interval", "1h"]))
    await("the first push", of: exporter) { silent.wait_readable(0) }
    exporter.signal(:TERM)
    stopped = finish(exporter, within: 15)
    assert_equal 0, stopped.code, stopped.to_s
    assert_match(/a push is not answered within 5 s, and is given up/, stopped.err)
  ensure
    silent&.close
  end

  def test_one_push_says_by_its_exit_code_whether_it_was_taken
    assert_equal 3, pushed_once(port: free_port).code
    receive
    empty = pushed_once
    assert_equal 3, empty.code
    assert_match(/no flight file is in/, empty.err)
    FileUtils.cp(SAMPLES, @folder)
    # Users make paths, and no series.
    assert_equal 0, pushed_once("--endpoints", "1").code
    shown = @receiver.last_push.metrics.fetch("powerband.endpoint_requests").points
    assert_equal ["(other)", "products#index"], shown.map { |point| point[:attributes]["endpoint"] }
    @receiver.answer = "401 Unauthorized\r\n"
    assert_match(/401 Unauthorized; give --token-file or --header-file/, pushed_once.err)
    @receiver.answer = "307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\n"
    assert_match(/which is not followed/, pushed_once.err)
    @receiver.answer = "200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    assert_match(/a page of HTML.*give the receiver's own address/, pushed_once.err)
    @receiver.answer = "200 OK\r\n"
    headers = File.join(@dir, "headers")
    File.write(headers, "api-key: hunter2\nX-Scope-OrgID: shop\n")
    assert_equal 0, pushed_once("--header-file", headers).code
    sent = @receiver.last_push.headers
    assert_equal ["api-key: hunter2", "x-scope-orgid: shop"], sent.grep(/api-key|scope/)
  end

  def test_one_push_that_is_not_answered_ends_with_the_first_signal
    FileUtils.cp(SAMPLES, @folder)
    silent = TCPServer.new("127.0.0.1", 0)
    exporter = start(BINARY, *words(silent.addr[1], ["--once"]))
    await("the push", of: exporter) { silent.wait_readable(0) }
    exporter.signal(:TERM)
    assert_nil finish(exporter, within: 5).code
  ensure
    silent&.close
  end

  def test_the_certificate_is_verified
    FileUtils.cp(SAMPLES, @folder)
    ca = File.join(@dir, "ca.pem")
    receive(tls: certified(ca))
    url = "https://localhost:#{@receiver.port}/otlp"
    refused = powerband("export", @folder, "--otlp", url, *SERVICE, "--once")
    assert_equal 3, refused.code
    assert_match(/no answer: .*[Cc]ert/, refused.err)
    taken = powerband("export", @folder, "--otlp", url, *SERVICE, "--once", "--ca", ca)
    assert_equal 0, taken.code, taken.to_s
    File.write(ca, "none")
    wrong = powerband("export", @folder, "--otlp", url, *SERVICE, "--once", "--ca", ca)
    assert_refused wrong, 2, /--ca = .*name a PEM file/
  end

  def test_attributes_of_the_environment
    FileUtils.cp(SAMPLES, @folder)
    receive
    words = ["export", @folder, "--otlp", "http://127.0.0.1:#{@receiver.port}/otlp", "--once"]
    attributes = "service.name=shop,deployment.environment.name=test%2Cblue"
    assert_equal 0, powerband(*words, env: { "OTEL_RESOURCE_ATTRIBUTES" => attributes }).code
    assert_equal ["shop", "test,blue"], @receiver.push.resource.values_at("service.name", "deployment.environment.name")
    wrong = powerband(*words, env: { "OTEL_RESOURCE_ATTRIBUTES" => "shop" })
    assert_refused wrong, 2, /OTEL_RESOURCE_ATTRIBUTES: "shop" is no attribute; write key=value/
  end

  def test_wrong_usage_is_named_at_once
    wrong = powerband("export", "--otlp", "http://user:hunter2@a:1", "--interval", "5", "--resource", "x")
    assert_refused wrong, 2, /it holds a user/, /--interval = "5"/, /--resource = "x"/, /give --service shop/
    refute_includes wrong.err, "hunter2"
  end

  private

  def receive(port: 0, tls: nil) = @receiver = OtlpReceiver.new(port:, tls:)

  def words(port, more)
    ["export", @folder, "--otlp", "http://127.0.0.1:#{port || @receiver.port}/otlp", *SERVICE, *more]
  end

  def pushed_once(*more, port: nil) = powerband(*words(port, more), "--once")

  def pushing(*more, port: nil) = start(BINARY, *words(port, more), "--interval", "1s")

  def requests(push) = push.metrics.fetch("powerband.requests").point

  # The first push whose number of requests is as the block wants it.
  def until_requests(exporter)
    await("another number of requests", of: exporter) do
      point = requests(@receiver.push)
      point if yield(point[:value])
    end
  end

  def made_ns(folder)
    time = File.birthtime(folder)
    (time.to_i * 1_000_000_000) + time.nsec
  end

  # A metric as the lines that Prometheus makes of it.
  def text_of(name, metric)
    unit = { "s" => "seconds", "By" => "bytes" }[metric.unit]
    base = [name.tr(".", "_"), unit, ("total" if metric.kind == :sum)].compact.join("_")
    metric.points.flat_map do |point|
      labels = point[:attributes].transform_keys { |key| key.tr(".", "_") }
      metric.kind == :histogram ? histogram(base, labels, point) : [line(base, labels, point[:value])]
    end
  end

  def histogram(base, labels, point)
    sums = point[:counts].each_with_object([]) { |count, all| all << (count + (all.last || 0)) }
    bounds = point[:bounds].map { |bound| decimal(bound) } + ["+Inf"]
    assert_equal point[:count], sums.last
    buckets = bounds.zip(sums).map { |bound, up_to| line("#{base}_bucket", labels.merge("le" => bound), up_to) }
    [*buckets, line("#{base}_sum", labels, point[:sum]), line("#{base}_count", labels, point[:count])]
  end

  def line(name, labels, value)
    pairs = labels.map { |key, text| "#{key}=\"#{text.gsub(/[\\"\n]/, '\\' => '\\\\', '"' => '\\"', "\n" => '\\n')}\"" }.join(",")
    "#{name}#{"{#{pairs}}" unless pairs.empty?} #{decimal(value)}"
  end

  # As the text has it, which is exact.
  def decimal(number) = number.is_a?(Float) ? format("%.9f", number).sub(/\.?0+\z/, "") : number.to_s

  # A server's certificate, signed by an authority that is written to a file.
  def certified(file)
    authority, key = certificate("/CN=authority", nil, "basicConstraints" => "CA:TRUE")
    File.write(file, authority.to_pem)
    own, own_key = certificate("/CN=localhost", [authority, key], "subjectAltName" => "DNS:localhost")
    OpenSSL::SSL::SSLContext.new.tap { |context| context.add_certificate(own, own_key) }
  end

  def certificate(name, signer, extensions)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    made = OpenSSL::X509::Certificate.new
    made.version = 2
    made.serial = signer ? 2 : 1
    made.subject = OpenSSL::X509::Name.parse(name)
    made.issuer = signer ? signer.first.subject : made.subject
    made.public_key = key
    made.not_before = Time.now - 3600
    made.not_after = Time.now + 3600
    factory = OpenSSL::X509::ExtensionFactory.new
    extensions.each { |extension, value| made.add_extension(factory.create_extension(extension, value, signer.nil?)) }
    made.sign(signer ? signer.last : key, "SHA256")
    [made, key]
  end
end
