# frozen_string_literal: true

require "json"
require_relative "../../bench/support/figures"
require_relative "../support/experiments"
require_relative "../support/nginx"
require_relative "../support/powerband"
require_relative "../support/prometheus"

# Production in small: twenty Pumas behind nginx draw their arms, and Prometheus scrapes an exporter of each. The verdict agrees
# with `compare` on the same two arms, and is refused if nginx couples them. docs/method.md has the table that is left in
# target/fleet.md.
class FleetTest < PowerbandTest
  include Experiments
  include Nginx
  include Prometheus

  UNITS = Array.new(20) { |number| "web-#{number}" }
  APP = File.join(APPS, "mixed")
  # One millisecond of Ruby, and so many of waiting in the first arm: waits for a core are little against it.
  HELD_MS = 1
  WAIT_MS = 40
  RATE = 100

  def test_twenty_pumas_and_compare_agree
    of_fleet = verdict_of_fleet(other_ms: 48, seconds: 240)
    of_compare = compared(other_ms: 48)
    publish(of_fleet, of_compare)
    longer = of_fleet["comparisons"].fetch(0)
    assert_equal "worse", longer["verdict"], longer.to_s
    assert_equal "worse", of_compare["outcome"], of_compare.to_s
    low, high = slower(of_compare).drop(1)
    # As many threads that all wait: a request takes as much longer as the throughput is lower.
    assert longer["response_time"].then { |ratio| ratio["low"] < high && low < ratio["high"] }, "#{longer}\n#{of_compare}"
  end

  # A slow server has requests in flight, so that the others get more.
  def test_least_connections_are_refused
    of_fleet = verdict_of_fleet(other_ms: 200, seconds: 60, method: "least_conn")
    refused = of_fleet["comparisons"].fetch(0)
    puts refused["sentence"]
    assert_equal ["refused", nil], refused.values_at("verdict", "response_time"), refused.to_s
    assert_match(/the load balancer gives the arms different traffic \(least connections\?\)/, refused["why_not"])
    assert_operator refused.dig("request_rate", "high"), :<, 0.98
  end

  private

  def verdict_of_fleet(other_ms:, seconds:, method: nil)
    file = experiment(lasts: "#{seconds}s", slice: "4s", starts: Time.now + 1, setting: "WAIT_MS = #{other_ms}")
    await("the start of the experiment") { Time.now > starts_at(file) }
    environment = { "HELD_MS" => HELD_MS.to_s, "WAIT_MS" => WAIT_MS.to_s }
    sites = UNITS.map { |unit| launch(file, unit, File.join(@dir, unit), app: APP, env: environment) }
    sites.each { |site| await("Puma to listen", of: site.started, within: 120) { listens?(site.port) } }
    server = prometheus(UNITS.map { |unit| exported(File.join(@dir, unit)) })
    await("all arms in Prometheus", of: server.started) { arms_seen(server) == UNITS.size }
    site = balancer(sites.map(&:port), method: method)
    load = start(BINARY, "load", site, "--rate", RATE, "--duration", "#{seconds}s", "--quiet")
    await("the last look", within: seconds + 30, of: server.started) { Time.now > starts_at(file) + seconds + 2 }
    assert_nil load.status, "requests came until the end: #{load}"
    read = powerband("verdict", file, "--prometheus", server.url.chomp("/"), "--match", 'job="shop"', "--json")
    assert_includes [0, 1, 3], read.code, read.to_s
    assert_valid_document(read.out, "verdict-v1")
    JSON.parse(read.out)
  ensure
    # `compare` has the machine for itself.
    @running.reject(&:status).each { |started| started.signal(:KILL) && finish(started) }
  end

  # The port of an exporter of one unit's flight folder, as a sidecar.
  def exported(folder)
    started = start(BINARY, "export", folder, "--listen", "127.0.0.1:0")
    await("the exporter's address", of: started) { started.out[/:(\d+)/, 1] }.to_i
  end

  # What `compare` finds in their throughput.
  def compared(other_ms:)
    arms = [WAIT_MS, other_ms].map { |wait| "threads=3,env.WAIT_MS=#{wait}" }
    ended = measured("compare", *arms, "--app", APP, "--env", "HELD_MS=#{HELD_MS}", "--blocks", "6", "--window", "2s", "--json",
                     "--quiet", "--runs", runs, within: 300)
    assert_equal 0, ended.code, ended.to_s
    JSON.parse(ended.out).fetch("comparisons").find { |one| one["metric"] == "capacity" }
  end

  # The inverse of a ratio of throughputs, with its interval.
  def slower(of_compare)
    of_compare.values_at("ratio", "high", "low").map { |ratio| 1 / ratio }
  end

  def publish(of_fleet, of_compare)
    longer = of_fleet["comparisons"].fetch(0)
    ratio = longer["response_time"] || {}
    arms = of_fleet["arms"].map { |arm| [*arm.values_at("name", "draws", "requests"), format("%.2f ms", arm["response_ms"])] }
    rows = [["`verdict`: mean response time", changed(ratio.values_at("estimate", "low", "high")), ratio["p"], longer["verdict"]],
            ["`compare`: 1 / throughput", changed(slower(of_compare)), of_compare["p"], of_compare["outcome"]]]
    text = "#{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}\n\n" \
           "#{Figures.markdown(['arm', 'draws', 'requests', 'mean response time'], arms)}\n" \
           "#{Figures.markdown(['', 'the second arm', 'p', 'outcome'], rows)}"
    puts text
    File.write(File.join(ROOT, "target/fleet.md"), text)
  end

  def changed(ratios)
    estimate, low, high = ratios.map { |ratio| ratio && format("%+.1f", 100 * (ratio - 1)) }
    "#{estimate} % (#{low} to #{high})"
  end
end
