# frozen_string_literal: true

require "fileutils"
require "json"
require "socket"
require "time"
require_relative "servers"

# A Kafka 4 of the test's own, one node with data below the test's folder, on free ports of this machine.
module Kafka
  include Servers

  JARS = File.join(ENV.fetch("CARGO_TARGET_DIR", File.expand_path("../../target", __dir__)), "kafka")
  # A node that starts fast and stays small.
  JVM = %W[java -Xmx256m -Xms64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto -cp #{JARS}/*].freeze

  # A node, which may be killed and started again on its ports and data.
  Node = Struct.new(:started, :host, :port, :tls_port, :folder) do
    def url(topic, **parameters)
      parameters = parameters.map { |name, value| "#{name}=#{value}" }.join("&")
      "kafka://#{host}:#{port}/#{topic}#{"?#{parameters}" unless parameters.empty?}"
    end

    def tls_url(topic) = "kafka+tls://localhost:#{tls_port}/#{topic}"
    def properties = File.join(folder, "server.properties")

    # Its compression unpacks a library into the folder for temporary files, and leaves it there when it is killed.
    def java = [*JVM, "-Djava.io.tmpdir=#{folder}"]
  end

  # `tls`: a PEM file with key and chain; the node then has a listener for SASL over TLS as well.
  def kafka(tls: nil, host: "127.0.0.1")
    skip "java is not installed: script/bootstrap installs it" unless system("java", "-version", err: File::NULL)
    skip "Kafka is not installed: script/bootstrap installs it" if Dir.glob("#{JARS}/kafka_*.jar").empty?
    folder = File.join(@dir, "kafka")
    FileUtils.mkdir_p(folder)
    port, controller, tls_port = free_ports(3)
    node = Node.new(nil, host, port, tls_port, folder)
    File.write(node.properties, properties(node, controller, tls))
    words = ["format", "--cluster-id", "cG93ZXJiYW5kLWtha2ZrYQ", "--config", node.properties, *(["--add-scram", SCRAM] if tls)]
    formatted = finish(start(*node.java, "kafka.tools.StorageTool", *words), within: 60)
    raise formatted.to_s unless formatted.code.zero?

    run_kafka(node)
  end

  # Starts a node that is not running, and waits until it answers.
  def run_kafka(node)
    node.started = start(*node.java, "kafka.Kafka", node.properties)
    await("Kafka to listen", of: node.started) { listens?(node.port, host: node.host) }
    node
  end

  def kill_kafka(node)
    node.started.signal(:KILL)
    await("the end of Kafka") { node.started.status }
  end

  # A topic with a recording, converted from one that a browser exports: requests on the connections in turn, at equal distances.
  # `path` makes a request's path of its number.
  def filled(node, requests:, connections:, step_s:, partitions:, path:)
    har = File.join(@dir, "traffic.har")
    entries = Array.new(requests) do |number|
      { startedDateTime: (Time.utc(2026) + (number * step_s)).iso8601(3), connection: (1 + (number % connections)).to_s,
        request: { method: "GET", url: "http://a.test#{path[number]}", httpVersion: "HTTP/1.1", headers: [] } }
    end
    File.write(har, JSON.generate(log: { version: "1.2", creator: { name: "powerband" }, entries: entries }))
    url = node.url("traffic", partitions: partitions)
    ended = powerband("capture", "convert", har, "--to", "pbc", "-o", url)
    assert_equal 0, ended.code, ended.to_s
    url
  end

  private

  PASSWORD = "a-secret-of-kafka"
  SCRAM = "SCRAM-SHA-512=[name=shop,password=#{PASSWORD}]".freeze
  private_constant :SCRAM

  def properties(node, controller, tls)
    clients = ["PLAINTEXT://#{node.host}:#{node.port}", *("SASL_SSL://localhost:#{node.tls_port}" if tls)]
    <<~CONF
      process.roles=broker,controller
      node.id=1
      controller.quorum.voters=1@127.0.0.1:#{controller}
      controller.listener.names=CONTROLLER
      listeners=#{[*clients, "CONTROLLER://127.0.0.1:#{controller}"].join(',')}
      advertised.listeners=#{clients.join(',')}
      listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
      log.dirs=#{node.folder}/data
      auto.create.topics.enable=false
      offsets.topic.replication.factor=1
      offsets.topic.num.partitions=1
      transaction.state.log.replication.factor=1
      transaction.state.log.min.isr=1
      group.initial.rebalance.delay.ms=200
      num.network.threads=1
      num.io.threads=2
      log.cleaner.enable=false
      #{secured(tls) if tls}
    CONF
  end

  def secured(tls)
    <<~CONF
      sasl.enabled.mechanisms=SCRAM-SHA-512
      listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
      listener.name.sasl_ssl.ssl.keystore.type=PEM
      listener.name.sasl_ssl.ssl.keystore.location=#{tls}
    CONF
  end
end
