# frozen_string_literal: true

require "etc"
require_relative "support/powerband"
require_relative "support/mirrors"

# A host without a free core: the mirror's thread for shadows is the last to get one, and its wait lengthens their times. An
# identical shadow without a twin must not be called better or worse because of that.
class MirrorBusyHostTest < PowerbandTest
  include Mirrors

  # More than one for each core, so that none becomes free by chance. They end by themselves if the test does not end them.
  BUSY_S = 120
  BURNER = "ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + #{BUSY_S}; " \
           "nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at".freeze

  def test_an_identical_shadow_is_neither_better_nor_worse
    primary, shadow = Array.new(2) { puma(File.join(APPS, "cpu"), env: { "HELD_MS" => "3" }) }
    mirror = mirror(primary, "--shadow", "same=#{shadow.url.chomp('/')}", "--deadline", "60s", "--queue", "4096", "--json")
    while_every_core_is_busy do
      loaded = powerband("load", mirror.url, "--rate", 30, "--duration", "8s", "--quiet")
      assert_includes [0, 3], loaded.code, loaded.to_s
      await("every copy in its place") { mirror.counts["shadows"].all? { |one| one["pending"].zero? } }
    end
    ended = stop(mirror)
    assert_valid_document(ended.out, "duplex-v1")
    assert_not_judged_by_the_mirrors_wait JSON.parse(ended.out)
  end

  private

  def while_every_core_is_busy
    burners = Array.new(2 * Etc.nprocessors) { start(Gem.ruby, "--disable-gems", "-e", BURNER) }
    yield
  ensure
    burners&.each do |burner|
      burner.signal(:KILL) unless burner.status
      finish(burner)
    end
  end

  def assert_not_judged_by_the_mirrors_wait(document)
    wait_ms = document["shadows"].first["core_wait_ms"]
    skip "the kernel does not count a thread's wait for a core" unless wait_ms

    assert_operator wait_ms, :>, 0
    claim = document["comparisons"].first
    assert_operator claim["requests"], :>=, 120, document["sentence"]
    assert_operator claim["allowance"], :>, 0
    refute_includes %w[better worse], claim["outcome"], document["sentence"]
    return if claim["allowance"] <= 0.25

    assert_match(/the mirror itself waited for a CPU core for .* of each answer.*--twin NAME/, document["sentence"])
  end
end
