# frozen_string_literal: true

require "test_helper"

class ConfigTest < Minitest::Test
  def config(env = {})
    Powerband::Config.new(env)
  end

  def test_defaults
    plain = config

    assert_equal ["/tmp/powerband", 16_384, true, []], [plain.root, plain.ring_capacity, plain.enabled?, plain.errors]
    assert_equal "/run/user/1/powerband", config("XDG_RUNTIME_DIR" => "/run/user/1").root
    assert_equal "/x/y", config("POWERBAND_DIR" => "/x/y/", "XDG_RUNTIME_DIR" => "/run/user/1").root
  end

  def test_settings
    assert_equal 64, config("POWERBAND_RING" => "64").ring_capacity
    %w[0 false off OFF].each { |text| refute_predicate config("POWERBAND_ENABLED" => text), :enabled? }
    %w[1 true on].each { |text| assert_predicate config("POWERBAND_ENABLED" => text), :enabled? }
  end

  def test_what_cannot_be_used_is_named_together
    bad = config("POWERBAND_RING" => "1000", "POWERBAND_ENABLED" => "maybe")

    assert_equal [16_384, true], [bad.ring_capacity, bad.enabled?]
    assert_equal ["POWERBAND_RING=1000: it must be a power of two from 64 to 1048576; using 16384",
                  "POWERBAND_ENABLED=maybe: it must be 1 or 0; the agent stays on"], bad.errors
    %w[32 2097152 -64 64.0 many 0x40].each { |text| refute_empty config("POWERBAND_RING" => text).errors, text }
  end
end
