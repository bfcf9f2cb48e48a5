# frozen_string_literal: true

require "rexml/document"
require_relative "../support/powerband"

# `powerband capacity` on a Rails application: the search, the curve, the chart.
class CapacityCurveTest < PowerbandTest
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

  private

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
    assert(texts.any? { |text| text.start_with?("highest that meets p90 ≤ 700 ms") }, texts.inspect)
  end
end
