# frozen_string_literal: true

# How much faster four generators replay a topic than one: `ruby bench/kafka/run.rb`, as root. QUICK=1 proves that it works.
# Prints the table and writes it; see README.md in this folder.

require "minitest/autorun"
require_relative "../support/build"
require_relative "../support/figures"
ENV["POWERBAND_BINARY"] ||= "#{Build::TARGET}/release/powerband"
require_relative "../../e2e/support/control_group"
require_relative "../../e2e/support/kafka"
require_relative "../../e2e/support/nginx"
require_relative "../../e2e/support/powerband"

# Machines of the benchmark: network namespaces on one bridge, each with a share of a core.
class Machines
  # So small that four generators, the server and Kafka fit on two cores, and the server is not the limit.
  CORES = 0.12

  attr_reader :host

  def initialize(count)
    @name = "pbk#{Process.pid % 10_000}"
    @net = "10.214.#{Process.pid % 256}"
    @host = "#{@net}.1"
    ip("link", "add", @name, "type", "bridge")
    ip("address", "add", "#{@host}/24", "dev", @name)
    ip("link", "set", @name, "up")
    @groups = Array.new(count) { |number| machine(number) }
  end

  # The words before a command on one of them.
  def on(number) = [*@groups[number].inside, "ip", "netns", "exec", namespace(number)]

  def throttled(number) = @groups[number].throttled

  def remove
    @groups.each_index { |number| ip("netns", "delete", namespace(number)) }
    ip("link", "delete", @name)
    @groups.each(&:remove)
  end

  private

  def namespace(number) = "#{@name}n#{number}"

  def machine(number)
    name = namespace(number)
    ip("netns", "add", name)
    ip("link", "add", "#{@name}h#{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("link", "set", "#{@name}h#{number}", "master", @name, "up")
    ip("-n", name, "address", "add", "#{@net}.#{number + 2}/24", "dev", "eth0")
    ip("-n", name, "link", "set", "eth0", "up")
    ip("-n", name, "link", "set", "lo", "up")
    ControlGroup.new(cores: CORES, memory_bytes: 1 << 30)
  end

  def ip(*words) = system("ip", *words, exception: true)
end

# One topic, replayed as fast as the generators can.
class KafkaBench < PowerbandTest
  include Kafka
  include Nginx

  QUICK = ENV["QUICK"] == "1"
  REQUESTS = QUICK ? 4_000 : 60_000
  CONNECTIONS = 960
  ROUNDS = QUICK ? 1 : 5
  # So fast that every generator is at its limit.
  SPEED = "1000x"

  def test_four_generators_against_one
    skip ControlGroup.lacks if ControlGroup.lacks
    machines = Machines.new(4)
    node = kafka(host: machines.host)
    site = nginx_at(machines.host)
    # In turn on all connections, a hundred in a second.
    url = filled(node, requests: REQUESTS, connections: CONNECTIONS, step_s: 0.01, partitions: 48,
                       path: ->(number) { "/?#{number % 100}" })
    ratios = Array.new(ROUNDS) do |round|
      one, four = [1, 4].map { |count| rate(machines, site, url, count, "round-#{round}-#{count}") }
      puts format("round %<round>d: one %<one>d/s, four %<four>d/s", round: round + 1, one: one, four: four)
      [one, four, four / one]
    end
    publish(ratios)
  ensure
    machines&.remove
  end

  private

  def nginx_at(host)
    port = free_port
    folder = File.join(@dir, "server")
    started_nginx(folder, port, <<~CONF)
      access_log off;
      keepalive_requests 100000;
      server { listen #{host}:#{port} backlog=4096; listen 127.0.0.1:#{port}; location / { return 200 "hello"; } }
    CONF
    "http://#{host}:#{port}/"
  end

  # Answered requests a second, by the merged document.
  def rate(machines, site, url, count, group)
    words = [BINARY, "load", site, "--allow-remote", "--replay", url, "--group", group, "--generators", count, "--speed", SPEED,
             "--max-connections", 64, "--timeout", "120s", "--json", "--quiet"]
    started = Array.new(count) { |number| start(*machines.on(number), *words) }
    started.each { |one| finish(one, within: 300) }
    merged = powerband("load", "merge", url, "--group", group, "--json")
    document = JSON.parse(merged.out)
    assert_equal [REQUESTS, 0], [document["counts"]["ok"], document["group"]["lost"]], merged.err
    document["counts"]["ok"] / document["elapsed_s"]
  end

  def publish(rounds)
    ones, fours, ratios = rounds.transpose
    range = ratios.minmax.map { |ratio| format("%.2f", ratio) }.join(" to ")
    rows = [
      ["one generator", Figures.median(ones).round],
      ["four generators", Figures.median(fours).round],
      ["ratio, median of #{rounds.size} (smallest to largest)", "#{format('%.2f', Figures.median(ratios))} (#{range})"]
    ]
    text = <<~MARKDOWN
      # Four generators against one

      Made by `ruby bench/kafka/run.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}. What is measured how:
      [README.md](README.md).

    MARKDOWN
    text << Figures.markdown(["", "requests a second"], rows)
    Figures.publish("kafka", text, full: !QUICK)
  end
end
