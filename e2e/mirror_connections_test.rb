# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/mirrors"

# A thread of Puma waits on a kept connection for its next request. A shadow of one thread must not look slow for that.
class MirrorConnectionsTest < PowerbandTest
  include Mirrors

  # Kept connections made one thread 80 times as slow as three at this load, which takes 6 % of its time.
  MOST = 5

  def test_a_shadow_of_one_thread_is_not_slow_for_its_connections
    cpu = File.join(APPS, "cpu")
    primary, twin, one = [3, 3, 1].map { |threads| puma(cpu, threads: threads, env: { "HELD_MS" => "3" }) }
    shadows = { "twin" => twin, "one" => one }.flat_map { |name, serving| ["--shadow", "#{name}=#{serving.url.chomp('/')}"] }
    mirror = mirror(primary, *shadows, "--twin", "twin", "--json")
    loaded = powerband("load", mirror.url, "--rate", 20, "--duration", "8s", "--quiet")
    assert_includes [0, 3], loaded.code, loaded.to_s
    await("every copy in its place") { mirror.counts["shadows"].all? { |shadow| shadow["pending"].zero? } }
    document = JSON.parse(stop(mirror).out)
    claim = document["comparisons"].find { |comparison| comparison["purpose"] == "claim" }
    mean = claim.fetch("all").fetch("mean")
    assert_operator claim["requests"], :>=, 100
    assert_operator mean["candidate_ms"], :<, MOST * mean["reference_ms"], document["sentence"]
  end
end
