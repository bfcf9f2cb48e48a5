# frozen_string_literal: true

require "rexml/document"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband capacity` on the real binary: the search, the curve, the chart, and what is no answer.
class CapacityTest < PowerbandTest
  include Servers

  STOREFRONT = File.join(ROOT, "examples/storefront/powerband.toml")
  SERIES = ["answered in time", "answered late", "failed"].freeze

  def test_the_storefront_has_a_curve
    svg = File.join(@dir, "curve.svg")
    ended = answered("capacity", "--config", STOREFRONT, "--slo", "p90=700ms", "--budget", "120s", "--svg", svg, "--json",
                     "--runs", runs, within: 240)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "capacity-v1")
    document = JSON.parse(ended.out)
    assert_curve document["search"]
    assert_chart svg
    assert_equal document, JSON.parse(File.read(Dir[File.join(runs, "*/capacity.json")].max))
  end

  def test_an_objective_that_nothing_meets
    ended = answered("capacity", "--app", File.join(APPS, "io"), "--path", "/", "--slo", "p99=20ms", "--budget", "40s",
                     "--json", "--runs", runs, env: LIGHT, within: 120)
    assert_equal 1, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    assert_equal "not_even", document["search"]["ending"]
    assert_nil document["search"]["met_per_s"]
    assert_match(/Not even .* requests a second meet p99 = 20 ms/, document["sentence"])
  end

  def test_a_server_that_refuses
    port = free_port
    ended = powerband("capacity", "http://127.0.0.1:#{port}/", "--slo", "p99=250ms", "--runs", runs)
    assert_refused ended, 3, /127\.0\.0\.1:#{port}: .*connection refused/
    assert_equal 1, ended.messages.size, ended.to_s
    assert_no_run_folder
  end

  def test_what_is_wrong_is_told_at_once
    ended = powerband("capacity", "--app", @dir, "--at", "5,x", "--budget", "1s", "--runs", runs)
    assert_refused ended, 2, /no objective; .*--slo p99=250ms/, /--at = "x"/, /--budget = "1s": too short/
    assert_no_run_folder
  end

  def test_another_machine_is_left_alone
    ended = powerband("capacity", "http://192.0.2.1/", "--slo", "p99=250ms", "--runs", runs)
    assert_refused ended, 2, /192\.0\.2\.1.*--allow-remote/
    assert_no_run_folder
  end

  private

  # A host that is too busy gets no answer; it is asked again, as a person would.
  def answered(*words, **options)
    2.times do
      ended = powerband(*words, **options)
      return ended unless ended.code == 3
    end
    powerband(*words, **options)
  end

  def assert_curve(search)
    curve = search["curve"]
    asked = curve.map { |point| point["asked_per_s"] }
    assert_operator asked.size, :>=, 4, search
    assert_equal asked.sort, asked
    curve.each do |point|
      parts = point.values_at("in_time_per_s", "late_per_s", "failed_per_s")
      assert_in_delta point["offered_per_s"], parts.sum, 1e-6
    end
    assert_operator asked.last, :>, search["saturated_per_s"]
    assert_operator search["met_per_s"], :<=, search["high_per_s"] || Float::INFINITY
  end

  def assert_chart(path)
    texts = REXML::Document.new(File.read(path)).root.get_elements("//text").map { |text| text.text.to_s.strip }
    SERIES.each { |name| assert_includes texts, name }
    assert(texts.any? { |text| text.include?("requests per second") }, texts.inspect)
    assert(texts.any? { |text| text.start_with?("highest that meets p90 = 700 ms") }, texts.inspect)
  end
end
