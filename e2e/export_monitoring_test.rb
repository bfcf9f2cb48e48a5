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

  # The manifests name the rule that records the queue time, in words that Prometheus understands.
  def test_manifests_scale_on_the_queue_time
    page = File.read(File.join(ROOT, "docs/export.md"))
    documents = page.scan(/^```yaml\n(.*?)^```$/m).flatten.flat_map { |text| YAML.load_stream(text) }
    kinds = documents.to_h { |document| [document["kind"], document] }
    recorded = "job:powerband_request_queue_seconds:mean2m"
    assert_includes rules.map { |rule| rule["record"] }, recorded
    hpa = kinds.fetch("HorizontalPodAutoscaler").dig("spec", "metrics").fetch(0).fetch("external")
    adapter = documents.find { |document| document.key?("externalRules") }.fetch("externalRules").fetch(0)
    assert_equal adapter.dig("name", "as"), hpa.dig("metric", "name")
    assert_includes adapter.fetch("seriesQuery"), recorded
    triggers = kinds.fetch("ScaledObject").dig("spec", "triggers")
    trigger = triggers.fetch(0)
    assert_equal "prometheus", trigger["type"]
    assert_includes trigger.dig("metadata", "query"), recorded
    of_adapter = adapter.fetch("metricsQuery").sub("<<.Series>>", recorded).gsub("<<.LabelMatchers>>", 'job="shop"')
    triggers.each { |one| assert_equal "false", one.dig("metadata", "ignoreNullValues") }
    [trigger.dig("metadata", "query"), of_adapter].each { |query| assert_one_queue_time query }
  end

  private

  # A scaler takes one value: the queue time, 0 where no request's is known, and none where there are no series.
  def assert_one_queue_time(query)
    requests = ["powerband_requests_total", "0+600x20"]
    queue = [["powerband_request_queue_seconds_sum", "0+60x20"], ["powerband_request_queue_seconds_count", "0+600x20"]]
    idle = queue.map { |name, _| [name, "0x20"] }
    cases = { [requests, *queue] => 0.1, [requests, *idle] => 0, [requests] => 0, [] => nil }
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
