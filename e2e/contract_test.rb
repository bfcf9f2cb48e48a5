# frozen_string_literal: true

require "json"
require "minitest/autorun"

# The golden samples of the run document as Ruby reads them: required keys, no others, and types, by a walk along a
# separate schema, so that the two languages check the contract independently.
class ContractTest < Minitest::Test
  CONTRACT = File.expand_path("../contract", __dir__)
  SCHEMA = JSON.parse(File.read(File.join(CONTRACT, "run-v1.schema.json")))
  TYPES = {
    "object" => [Hash], "array" => [Array], "string" => [String], "integer" => [Integer], "number" => [Integer, Float],
    "boolean" => [true.class, false.class], "null" => [NilClass]
  }.freeze

  Dir[File.join(CONTRACT, "samples/run/*.json")].each do |path|
    define_method("test_#{File.basename(path, '.json')}_keeps_the_schema") do
      sample = JSON.parse(File.read(path))
      assert_equal [], violations(SCHEMA, sample)
      assert_equal File.basename(path, ".json"), sample["kind"]
      refute_nil sample["verdict"]
    end
  end

  def test_there_are_samples
    assert_equal 3, Dir[File.join(CONTRACT, "samples/run/*.json")].size
  end

  def test_the_walk_sees_what_is_wrong
    sample = JSON.parse(File.read(File.join(CONTRACT, "samples/run/compare.json")))
    assert_match(/surprise/, violations(SCHEMA, sample.merge("surprise" => 1)).join)
    assert_match(/plan/, violations(SCHEMA, sample.except("plan")).join)
    assert_match(/elapsed_s/, violations(SCHEMA, sample.merge("elapsed_s" => "long")).join)
    assert_match(/state/, violations(SCHEMA, sample.merge("state" => "asleep")).join)
    trials = [sample["trials"].first.merge("block" => 1.5)]
    assert_match(%r{trials/0/block}, violations(SCHEMA, sample.merge("trials" => trials)).join)
  end

  private

  # What in `value` breaks `schema`, each with its place. Only what the schema uses is known here.
  def violations(schema, value, place = "")
    schema = SCHEMA.dig(*schema["$ref"].delete_prefix("#/").split("/")).merge(schema.except("$ref")) if schema["$ref"]
    choices = schema["anyOf"] || schema["oneOf"]
    return choice_violations(choices, value, place) if choices

    type_violations(schema, value, place) + inner_violations(schema, value, place)
  end

  # An optional value is described by its type.
  def choice_violations(choices, value, place)
    found = choices.map { |choice| violations(choice, value, place) }
    return [] if found.any?(&:empty?)

    wanted = choices.reject { |choice| choice["type"] == "null" }
    wanted.one? ? violations(wanted.first, value, place) : ["#{place}: #{value.inspect[0, 60]} is none of the choices"]
  end

  def type_violations(schema, value, place)
    types = Array(schema["type"]).flat_map { |type| TYPES.fetch(type) }
    wrong = []
    wrong << "#{place}: #{value.class} instead of #{schema['type']}" unless types.empty? || types.include?(value.class)
    wrong << "#{place}: #{value.inspect} instead of #{schema['const']}" if schema.key?("const") && schema["const"] != value
    wrong << "#{place}: #{value.inspect} is not in #{schema['enum']}" if schema.key?("enum") && !schema["enum"].include?(value)
    wrong << "#{place}: #{value} is under #{schema['minimum']}" if value.is_a?(Numeric) && value < schema.fetch("minimum", value)
    wrong
  end

  def inner_violations(schema, value, place)
    case value
    when Hash then key_violations(schema, value, place) + member_violations(schema, value, place)
    when Array
      value.each_with_index.flat_map do |item, index|
        violations(schema.dig("prefixItems", index) || schema["items"] || {}, item, "#{place}/#{index}")
      end
    else []
    end
  end

  def key_violations(schema, value, place)
    missing = schema.fetch("required", []) - value.keys
    more = schema["additionalProperties"] == false ? value.keys - schema.fetch("properties", {}).keys : []
    missing.map { |key| "#{place}/#{key} is missing" } + more.map { |key| "#{place}/#{key} is unknown" }
  end

  def member_violations(schema, value, place)
    others = schema["additionalProperties"]
    value.flat_map do |key, member|
      inner = schema.fetch("properties", {})[key] || (others if others.is_a?(Hash))
      inner ? violations(inner, member, "#{place}/#{key}") : []
    end
  end
end
