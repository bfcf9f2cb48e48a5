# frozen_string_literal: true

require "json"
require "net/http"
require_relative "servers"

# Debian's Prometheus with data of the test's own, which scrapes targets on this machine every second.
module Prometheus
  include Servers

  def prometheus(ports)
    program = ["/usr/bin/prometheus", "/usr/local/bin/prometheus"].find { |path| File.executable?(path) }
    skip "prometheus is not installed: script/bootstrap installs it" unless program
    folder = File.join(@dir, "prometheus")
    FileUtils.mkdir_p(folder)
    file = File.join(folder, "prometheus.yml")
    File.write(file, scraping(ports))
    port = free_port
    started = start(program, "--config.file=#{file}", "--storage.tsdb.path=#{folder}/data", "--log.level=warn",
                    "--web.listen-address=127.0.0.1:#{port}")
    await("Prometheus to be ready", of: started) { ready?(port) }
    Servers::Serving.new(started, port)
  end

  # Whether the newest scrape of all targets has an arm.
  def arms_seen(server)
    uri = URI(server.url("/api/v1/query"))
    uri.query = URI.encode_www_form(query: "count(powerband_server_info{arm!=\"\"})")
    JSON.parse(Net::HTTP.get(uri)).dig("data", "result", 0, "value", 1).to_i
  end

  private

  def scraping(ports)
    targets = ports.map { |port| "\"127.0.0.1:#{port}\"" }.join(", ")
    <<~YAML
      global: { scrape_interval: 1s, scrape_timeout: 1s }
      scrape_configs:
        - job_name: shop
          static_configs: [{ targets: [#{targets}] }]
    YAML
  end

  def ready?(port)
    Net::HTTP.get_response(URI("http://127.0.0.1:#{port}/-/ready")).is_a?(Net::HTTPSuccess)
  rescue SystemCallError
    false
  end
end
