# frozen_string_literal: true

require "json"
require "open3"
require "yaml"
require_relative "support/powerband"
require_relative "support/prometheus"

# `powerband drift` on the sample of a run: its rules by promtool on series as exporters write them, and its answer from
# Prometheus.
class DriftTest < PowerbandTest
  include Prometheus
  parallelize_me!

  MATCH = "job=~\"as_assumed|drifted|other_endpoints\""
  FIRING = 'count by (job, figure) (ALERTS{alertstate="firing"})'
  FIGURES = %w[mix held io_share lock_wait rate memory settings].freeze

  def test_each_rule_fires_for_its_figure_alone
    skip "promtool is not installed: script/bootstrap installs it" unless system("promtool", "--version", out: File::NULL)
    written = powerband("drift", sample_run, "--rules", "--match", MATCH)
    assert_equal 0, written.code, written
    File.write(File.join(@dir, "drift.rules.yml"), written.out)
    all = FIGURES.map { |figure| firing("drifted", figure) } + [firing("other_endpoints", "mix")]
    tested = { "rule_files" => ["drift.rules.yml"], "evaluation_interval" => "1m",
               "tests" => [{ "interval" => "1m", "input_series" => series,
                             "promql_expr_test" => [{ "expr" => FIRING, "eval_time" => "170m",
                                                      "exp_samples" => all }] }] }
    file = File.join(@dir, "drift_test.yml")
    File.write(file, tested.to_yaml)
    said, status = Open3.capture2e("promtool", "test", "rules", file)
    assert status.success?, said
    summaries = YAML.safe_load(written.out).dig("groups", 0, "rules").map { |rule| rule.dig("annotations", "summary") }
    command = /powerband tune --since 2\S+ finds out whether single × 4 threads is still right/
    assert_equal FIGURES.size, summaries.grep(command).size
  end

  def test_a_prometheus_without_series
    server = prometheus([free_port])
    none = powerband("drift", sample_run, "--prometheus", server.url(""), "--last", "10m")
    assert_equal 3, none.code, none
    assert_match(/has none of the families powerband_… in the last 10m/, none.err)
  ensure
    stop(server) if server
  end

  def test_wrong_usage
    alone = powerband("drift", sample_run)
    assert_equal 2, alone.code, alone
    assert_match(/--prometheus <URL>/, alone.err)
    nowhere = ["--prometheus", "http://127.0.0.1:9"]
    assert_refused powerband("drift", sample_run, *nowhere, "--last", "1m"), 2, /--last = "1m": too short/
    compare = sample_run("compare")
    assert_refused powerband("drift", compare, "--rules"), 2, /it is a run of compare; name a run of tune/
    unused = powerband("drift", sample_run, "--rules", "--last", "7d")
    assert_equal 2, unused.code, unused
    assert_match(/cannot be used with/, unused.err)
  end

  def test_the_newest_run_of_tune_is_taken
    sample_run("compare")
    assert_refused powerband("drift", "--rules", "--runs", @dir), 2, /there is no run of tune under/
    sample_run
    taken = powerband("drift", "--rules", "--runs", @dir)
    assert_equal 0, taken.code, taken
  end

  private

  def sample_run(kind = "tune")
    folder = File.join(@dir, kind)
    FileUtils.mkdir_p(folder)
    FileUtils.cp(File.join(ROOT, "contract/samples/run/#{kind}.json"), File.join(folder, "run.json"))
    folder
  end

  def firing(job, figure)
    { "labels" => "{job=\"#{job}\", figure=\"#{figure}\"}", "value" => 1 }
  end

  # Of three jobs with 10 requests a second: as the run assumed, with each figure beyond its limit, and with other endpoints
  # alone.
  def series
    profile = JSON.parse(File.read(File.join(ROOT, "contract/samples/run/tune.json"))).fetch("profile")
    held, io = profile.values_at("held_ms", "io_ms").map { |ms| ms / 1000 }
    assumed = { held: held, io: io, lock: 0, pages: { "GET /" => 1 }, processes: 1, bytes: 32_931_840, threads: 4 }
    drifted = { held: 1.3 * held, io: 0.3 * io, lock: 0.1 * (held + io), pages: { "GET /" => 0.7, "GET /new" => 0.3 },
                processes: 0.07, bytes: 5_000_000, threads: 5 }
    others = assumed.merge(pages: { "GET /new" => 1 })
    of_job("as_assumed", assumed) + of_job("drifted", drifted) + of_job("other_endpoints", others)
  end

  def of_job(job, given)
    counted = { "requests_total" => 1, "request_seconds_total,state=\"held\"" => given[:held],
                "request_seconds_total,state=\"io\"" => given[:io], "request_seconds_total,state=\"lock_wait\"" => given[:lock] }
    given[:pages].each { |page, share| counted["endpoint_requests_total,endpoint=\"#{page}\""] = share }
    gauges = { "processes" => given[:processes], "resident_memory_bytes" => given[:bytes],
               "server_info,threads=\"#{given[:threads]}\",workers=\"0\"" => 1 }
    counters = counted.map { |name, each| one(job, name, "0+#{600 * each}x170") }
    counters + gauges.map { |name, value| one(job, name, "#{value}+0x170") }
  end

  def one(job, name, values)
    name, labels = name.split(",", 2)
    labels = ["job=\"#{job}\"", 'instance="a"', labels].compact.join(",")
    { "series" => "powerband_#{name}{#{labels}}", "values" => values }
  end
end
