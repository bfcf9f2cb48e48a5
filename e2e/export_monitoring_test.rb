# frozen_string_literal: true

require "json"
require "open3"
require "yaml"
require_relative "support/powerband"

# The rules and dashboards of packaging/monitoring, by Prometheus' own checks, and the manifests of docs/export.md that scale on
# them. That every series is one of ours is a test of crates/metrics/examples/dashboards.
class ExportMonitoringTest < PowerbandTest
  parallelize_me!

  MONITORING = File.join(ROOT, "packaging/monitoring")
  RULES = File.join(MONITORING, "powerband.rules.yml")
  SCALED_ON = %w[job:powerband_request_queue_seconds:mean2m job:powerband_threads_in_use:ratio_avg2m].freeze

  def setup
    super
    skip "promtool is not installed: script/bootstrap installs it" unless system("promtool", "--version", out: File::NULL)
  end

  def test_rules_record_and_alert_as_they_should
    assert_promtool "check", "rules", RULES
    FileUtils.cp([RULES, File.join(ROOT, "e2e/monitoring/rules_test.yml")], @dir)
    assert_promtool "test", "rules", File.join(@dir, "rules_test.yml")
    tested = File.read(File.join(@dir, "rules_test.yml"))
    untested = rules.reject do |rule|
      rule.key?("alert") ? tested.match?(/alertname: #{rule['alert']}$/) : tested.match?(/expr: .*\b#{rule.fetch('record')}\b/)
    end
    assert_operator rules.size, :>, 20
    assert_empty untested, "rules without a test"
  end

  def test_systemd_understands_the_unit
    skip "systemd-analyze is not installed" unless system("systemd-analyze", "--version", out: File::NULL)
    text = File.read(File.join(ROOT, "packaging/systemd/powerband-export.service"))
    unit = File.join(@dir, "powerband-export.service")
    File.write(unit, text.gsub("/usr/local/bin/powerband", BINARY))
    verified = finish(start("systemd-analyze", "verify", unit))
    # Of units of this machine it may complain as well.
    assert_empty (verified.out + verified.err).lines.grep(/powerband-export/)
  end

  # Each as a rule, because a query alone is not checked by a stable command.
  def test_dashboards_ask_what_prometheus_understands
    files = Dir[File.join(MONITORING, "grafana/*.json")]
    assert_equal 5, files.size
    expressions = files.flat_map do |file|
      panels = JSON.parse(File.read(file)).fetch("panels")
      panels.flat_map { |panel| panel.fetch("targets", []).map { |target| target.fetch("expr") } }
    end
    assert_operator expressions.size, :>, 40
    asked = expressions.map.with_index { |text, at| { "record" => "asked:#{at}", "expr" => text.gsub("$__rate_interval", "5m") } }
    file = File.join(@dir, "asked.yml")
    File.write(file, { "groups" => [{ "name" => "asked", "rules" => asked }] }.to_yaml)
    assert_promtool "check", "rules", file
  end

  # The manifests name the rules, in words that Prometheus understands.
  def test_manifests_scale_on_queue_time_and_threads_in_use
    documents = manifests
    kinds = documents.to_h { |document| [document["kind"], document] }
    adapter = documents.find { |document| document.key?("externalRules") }.fetch("externalRules")
    hpa = kinds.fetch("HorizontalPodAutoscaler").dig("spec", "metrics").map { |metric| metric.fetch("external") }
    triggers = kinds.fetch("ScaledObject").dig("spec", "triggers")
    triggers.each { |trigger| assert_equal %w[prometheus false], [trigger["type"], trigger.dig("metadata", "ignoreNullValues")] }
    queue, threads = SCALED_ON.each_with_index.map do |recorded, at|
      assert_includes rules.map { |rule| rule["record"] }, recorded
      assert_equal adapter[at].dig("name", "as"), hpa[at].dig("metric", "name")
      assert_equal recorded, adapter[at].fetch("seriesQuery")
      filled = adapter[at].fetch("metricsQuery").gsub("<<.Series>>", recorded).gsub("<<.LabelMatchers>>", 'job="shop"')
      [triggers[at].dig("metadata", "query"), filled]
    end
    queue.each { |query| assert_one_queue_time query }
    threads.each { |query| assert_one_share_of_threads query }
  end

  # An alert that the rules cannot have, because it names a job.
  def test_the_alert_of_the_page_is_one
    file = File.join(@dir, "page.yml")
    File.write(file, manifests.find { |document| document.key?("groups") }.to_yaml)
    assert_promtool "check", "rules", file
  end

  private

  def manifests
    page = File.read(File.join(ROOT, "docs/export.md"))
    page.scan(/^```yaml\n(.*?)^```$/m).flatten.flat_map { |text| YAML.load_stream(text) }
  end

  # A scaler takes one value: the queue time, 0 where no request's is known, and none where there are no series or none any more.
  def assert_one_queue_time(query)
    queue = %w[powerband_request_queue_seconds_sum powerband_request_queue_seconds_count]
    requests = { "powerband_requests_total" => "0+600x20" }
    busy = requests.merge(queue.zip(%w[0+60x20 0+600x20]).to_h)
    idle = requests.merge(queue.zip(%w[0x20 0x20]).to_h)
    ended = busy.transform_values { |values| values.sub("x20", "x6") }
    assert_values query, busy => 0.1, idle => 0, requests => 0, ended => nil, {} => nil
  end

  # Requests that hang count.
  def assert_one_share_of_threads(query)
    threads = { "powerband_threads" => "12x20" }
    hang = threads.merge("powerband_requests_in_flight" => "12x20", "powerband_request_duration_seconds_sum" => "5x20")
    none = { "powerband_threads" => "0x20", "powerband_requests_in_flight" => "0x20" }
    ended = hang.transform_values { |values| values.sub("x20", "x6") }
    assert_values query, hang => 1, none => nil, ended => nil, {} => nil
  end

  def assert_values(query, cases)
    tests = cases.map do |series, value|
      series = series.map { |name, values| { "series" => %(#{name}{job="shop",instance="a"}), "values" => values } }
      samples = [value && { "labels" => "{}", "value" => value }].compact
      expected = { "expr" => "round(#{query}, 0.0001)", "eval_time" => "10m", "exp_samples" => samples }
      { "interval" => "1m", "input_series" => series, "promql_expr_test" => [expected] }
    end
    file = File.join(@dir, "query_test.yml")
    File.write(file, { "rule_files" => [RULES], "evaluation_interval" => "1m", "tests" => tests }.to_yaml)
    assert_promtool "test", "rules", file
  end

  def rules = YAML.load_file(RULES).fetch("groups").flat_map { |group| group.fetch("rules") }

  def assert_promtool(*words)
    said, status = Open3.capture2e("promtool", *words)
    assert_predicate status, :success?, said
  end
end
