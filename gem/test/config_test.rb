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

  def test_the_root_that_nobody_named
    assert_predicate config, :default_root?
    assert_predicate config("POWERBAND_DIR" => "~nobody-here/x"), :default_root?
    [{ "POWERBAND_DIR" => "/tmp/powerband" }, { "XDG_RUNTIME_DIR" => "/run/user/1" },
     { "XDG_RUNTIME_DIR" => "/run/user/1", "POWERBAND_DIR" => "~nobody-here/x" }].each do |env|
      refute_predicate config(env), :default_root?
    end
  end

  def test_settings
    assert_equal 64, config("POWERBAND_RING" => "64").ring_capacity
    %w[0 false off OFF].each { |text| refute_predicate config("POWERBAND_ENABLED" => text), :enabled? }
    assert_equal [0, 100, 0], [config, config("POWERBAND_BURSTS" => "100"), config("POWERBAND_BURSTS" => "0")].map(&:bursts)
    %w[1 true on].each { |text| assert_predicate config("POWERBAND_ENABLED" => text), :enabled? }
  end

  def test_the_longest_queue_time
    { nil => 60, "5s" => 5, "1h" => 3600, "1min 30s" => 90 }.each do |text, seconds|
      assert_equal [seconds, []], config("POWERBAND_QUEUE_LIMIT" => text).then { |c| [c.queue_limit_s, c.errors] }, text
    end
    %w[60 0s 2h off often].each do |text|
      wrong = config("POWERBAND_QUEUE_LIMIT" => text)
      assert_equal [60, ["POWERBAND_QUEUE_LIMIT=#{text}: it must be a duration from 1s to 1h; using 60s"]],
                   [wrong.queue_limit_s, wrong.errors]
    end
  end

  def test_how_long_and_how_much_is_kept
    assert_equal [7 * 86_400, 256 * 1024 * 1024], [config.keep_s, config.keep_bytes]
    { "12h" => 43_200, "1d 12h" => 129_600, "90min" => 5400, "0s" => 0, "2weeks" => 1_209_600, "off" => Float::INFINITY }
      .each { |text, seconds| assert_equal seconds, config("POWERBAND_KEEP" => text).keep_s, text }
    { "1GiB" => 1 << 30, "1.5 MB" => 1_500_000, "100kib" => 102_400, "OFF" => Float::INFINITY }
      .each { |text, bytes| assert_equal bytes, config("POWERBAND_KEEP_SIZE" => text).keep_bytes, text }
  end

  def test_a_bare_number_is_no_duration_and_no_size
    ["7", "7 days old", "-1d", "1.5d", "d", "1y"].each do |text|
      assert_equal ["POWERBAND_KEEP=#{text}: it must be a duration such as 7d, or off; using 7d"],
                   config("POWERBAND_KEEP" => text).errors
    end
    ["256", "1.5.5MB", "-1MB", "1XB", "MiB"].each do |text|
      assert_equal ["POWERBAND_KEEP_SIZE=#{text}: it must be a size such as 256MiB, or off; using 256MiB"],
                   config("POWERBAND_KEEP_SIZE" => text).errors
    end
  end

  # Whatever is in the environment, a server starts.
  def test_what_is_no_text_no_folder_and_no_number_of_this_world
    %w[RING BURSTS ENABLED QUEUE_LIMIT KEEP KEEP_SIZE].each do |name|
      assert_match(/\APOWERBAND_#{name}=\uFFFD: it must be /, config("POWERBAND_#{name}" => "\xFF").errors.join)
    end
    nobodys = config("POWERBAND_DIR" => "~nobody-here/x")
    assert_equal "/tmp/powerband", nobodys.root
    assert_match(%r{\APOWERBAND_DIR=~nobody-here/x: it must be the path of a folder \(.*\); using /tmp/powerband\z},
                 nobodys.errors.join)
    assert_equal "/\xFF", config("POWERBAND_DIR" => "/\xFF").root
    assert_operator config("POWERBAND_KEEP_SIZE" => "#{'9' * 400}GiB").keep_bytes, :>, 1 << 60
    assert_equal ["POWERBAND_EXT=/nowhere.so: no file is there; looking elsewhere"],
                 config("POWERBAND_EXT" => "/nowhere.so").errors
    assert_empty config("POWERBAND_EXT" => __FILE__).errors
  end

  def test_the_arm_is_a_short_word
    assert_equal ["", "canary-2.b"], [config, config("POWERBAND_ARM" => "canary-2.b")].map(&:arm)
    ["two words", "a\nb", "x" * 64].each do |text|
      bad = config("POWERBAND_ARM" => text)
      assert_equal ["", 1], [bad.arm, bad.errors.size], text
    end
  end

  def test_what_cannot_be_used_is_named_together
    bad = config("POWERBAND_RING" => "1000", "POWERBAND_ENABLED" => "maybe", "POWERBAND_BURSTS" => "-3")

    assert_equal [16_384, 0, true], [bad.ring_capacity, bad.bursts, bad.enabled?]
    assert_equal ["POWERBAND_RING=1000: it must be a power of two from 64 to 1048576; using 16384",
                  "POWERBAND_BURSTS=-3: it must be N, for one in N requests, from 1 to 1000000000, or 0; none is sampled",
                  "POWERBAND_ENABLED=maybe: it must be 1 or 0; the agent stays on"], bad.errors
    %w[32 2097152 -64 64.0 many 0x40].each { |text| refute_empty config("POWERBAND_RING" => text).errors, text }
  end
end
