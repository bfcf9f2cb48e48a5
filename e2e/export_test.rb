# frozen_string_literal: true

require "etc"
require "net/http"
require "shellwords"
require_relative "support/mounts"
require_relative "support/pid_namespace"
require_relative "support/powerband"
require_relative "support/prometheus"
require_relative "support/promtool"

# `powerband export --listen` on the flight files of a real Puma, with a real Prometheus. The other way is in export_otlp_test.rb.
class ExportTest < PowerbandTest
  parallelize_me!

  include Prometheus
  include Promtool

  # Workers are replaced and the exporter is restarted while Prometheus scrapes.
  def test_counters_never_go_down
    site = puma(File.join(APPS, "io"), "-w", "2", before: inject, env: { "WAIT_MS" => "1" })
    port = free_port
    exporter = exported("--listen", "127.0.0.1:#{port}")
    server = prometheus([port])
    20.times { assert_equal "200", site.get("/").code }
    await("the first requests", of: server.started) { value(server, "sum(powerband_requests_total)") == 20 }
    workers = files.map { |file| File.basename(file).to_i }
    # Without a word, so that nothing is closed in good order.
    workers.each { |pid| Process.kill(:KILL, pid) }
    await("new workers", of: site.started) { (living - workers).size == 2 && !living.intersect?(workers) }
    assert_equal 0, ended(exporter)
    exported("--listen", "127.0.0.1:#{port}")
    15.times { assert_equal "200", site.get("/").code }
    await("all requests", of: server.started) { value(server, "sum(powerband_requests_total)") == 35 }
    assert_none_goes_down server
    assert_equal 2, value(server, "powerband_processes")
    text = Net::HTTP.get(URI("http://127.0.0.1:#{port}/metrics"))
    assert_promtool text
    assert_equal same(folder), text.lines.grep_v(/build_info|resident_memory/).join
  ensure
    stop(site, :KILL) if site
  end

  # As in a pod whose servers are in other containers: another PID namespace, a mount that nobody can write to.
  def test_another_container_reads_a_mount_that_is_read_only
    lacks = PidNamespace.lacks
    skip lacks if lacks
    site = puma(File.join(APPS, "io"), before: [*PidNamespace::NEW, *inject])
    3.times { assert_equal "200", site.get("/").code }
    seen = File.join(@dir, "seen")
    port = free_port
    script = ["set -e", *Mounts.bind(File.join(@dir, "flight"), seen, "ro"),
              "if touch #{seen}/x 2>/dev/null; then exit 99; fi",
              ["exec", BINARY, "export", seen, "--listen", "127.0.0.1:#{port}"].shelljoin]
    exporter = start(*PidNamespace::NEW, "sh", "-c", script.join("\n"))
    await("the exporter", of: exporter) { listens?(port) }
    await("the requests", of: exporter) { scrape(port).body.include?("\npowerband_requests_total 3\n") }
    text = scrape(port).body
    assert_equal "1", text[/^powerband_processes (\d+)$/, 1]
    refute_match(/^powerband_resident_memory/, text, "the process has no number here")
    stop(site, :KILL)
    site = nil
    # The namespace ends a moment after the process that made it.
    await("the server's end", of: exporter) { scrape(port).body.include?("\npowerband_processes 0\n") }
    assert_equal "3", scrape(port).body[/^powerband_requests_total (\d+)$/, 1]
  ensure
    stop(site, :KILL) if site
  end

  def test_a_folder_that_comes_later_and_who_is_answered
    port = free_port
    exporter = exported("--listen", "127.0.0.1:#{port}", "--path", "/internal/metrics", "--host", "shop.internal",
                        "--opentelemetry")
    none = scrape(port, "/internal/metrics")
    assert_equal "503", none.code
    assert_match(/\Apowerband: cannot read .*flight.*; start the server with/, none.body)
    assert_equal %w[200 404], ["/livez", "/metrics"].map { |path| scrape(port, path).code }
    FileUtils.mkdir_p(folder)
    assert_match(/\Apowerband: no flight file is in/, scrape(port, "/internal/metrics").body)
    FileUtils.cp(Dir[File.join(ROOT, "contract/samples/flight/*.flight")], folder)
    text = scrape(port, "/internal/metrics")
    assert_equal ["200", "text/plain; version=0.0.4; charset=utf-8"], [text.code, text["Content-Type"]]
    assert_includes text.body, "http_server_request_duration_seconds_bucket"
    hosts = %w[localhost shop.internal evil.example].map { |host| scrape(port, "/livez", "Host" => host).code }
    assert_equal %w[200 200 421], hosts
    # A client that never ends its question does not delay the end.
    socket = TCPSocket.new("127.0.0.1", port).tap { |client| client.write("GET / HTTP/1.1\r\n") }
    exporter.signal(:INT)
    stopped = finish(exporter, within: 5)
    assert_equal [0, "http://127.0.0.1:#{port}/internal/metrics\n", ""], [stopped.code, stopped.out, stopped.err]
  ensure
    socket&.close
  end

  def test_wrong_usage
    assert_refused powerband("export"), 2, /nothing is asked for; give --listen/
    taken = TCPServer.new("127.0.0.1", 0)
    assert_refused powerband("export", "--listen", "127.0.0.1:#{taken.addr[1]}"), 2, /in use.*; give .* a port that is free/
    assert_refused powerband("export", __FILE__, "--listen", ":0"), 2, /is no folder/
    skip "another user wants root" unless Process.uid.zero?
    FileUtils.mkdir_p(folder)
    File.chmod(0o755, @dir)
    File.chmod(0o700, folder)
    nobody = Etc.getpwnam("nobody").uid.to_s
    # The binary's folder may be private, too.
    command = "setpriv --reuid #{nobody} --clear-groups /proc/self/fd/3 export #{folder} --listen :0"
    script = "exec 3<#{BINARY.shellescape}; exec #{command}"
    refused = finish(start("sh", "-c", script))
    assert_refused refused, 3, /Permission denied .*; run this as the user whose servers write there/
    assert_equal 1, refused.err.lines.size, refused.to_s
  ensure
    taken&.close
  end

  private

  def folder = File.join(@dir, "flight", Process.uid.to_s)

  def inject = [BINARY, "run", "--flight-dir", File.join(@dir, "flight"), "--"]

  def files = Dir[File.join(folder, "*.flight")]

  # Of the processes that write files.
  def living
    files.map { |file| File.basename(file).to_i }.select { |pid| File.exist?("/proc/#{pid}") }
  end

  def exported(*words)
    started = start(BINARY, "export", File.dirname(folder), *words)
    await("the exporter's address", of: started) { started.out.end_with?("\n") }
    started
  end

  def ended(exporter)
    exporter.signal(:TERM)
    finish(exporter, within: 5).code
  end

  def scrape(port, path = "/metrics", fields = {})
    Net::HTTP.start("127.0.0.1", port) { |http| http.request(Net::HTTP::Get.new(path, fields)) }
  end

  # What the other command prints of the same files.
  def same(folder)
    powerband("inspect", "--prometheus", folder).out.lines.grep_v(/resident_memory/).join
  end

  # Of all samples that were scraped.
  def assert_none_goes_down(server)
    counters = found(server, '{__name__=~"powerband_.*(_total|_bucket|_sum|_count)"}[10m]')
    assert_operator counters.size, :>, 50
    counters.each do |series|
      values = series.fetch("values").map { |_, value| value.to_f }
      assert_equal values.sort, values, series.fetch("metric").to_s
    end
  end

  # The newest value of an expression; nil where there is none.
  def value(server, expression) = found(server, expression).dig(0, "value", 1)&.to_f

  def found(server, expression)
    uri = URI(server.url("/api/v1/query"))
    uri.query = URI.encode_www_form(query: expression)
    JSON.parse(Net::HTTP.get(uri)).fetch("data").fetch("result")
  end
end
