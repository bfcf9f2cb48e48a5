# frozen_string_literal: true

require_relative "../support/powerband"

# Memory that grows with the requests is said before the answer, of the configuration that leaks and of no other.
class GrowthTest < PowerbandTest
  def test_a_leak_is_said_first_and_only_of_who_leaks
    words = experiment("compare", "env.LEAK_KIB=20", "env.LEAK_KIB=0", app: "leaky")
    ended = measured(*words.drop(1), within: 300)
    assert_match(/\AThe memory of the server grows with the requests/, ended.out, ended.to_s)
    leaks, tight = document.fetch("arms")
    assert_nil tight["growth"], ended.to_s
    # The retained bytes, and the allocator's overhead.
    assert_in_delta 20 * 1024 * 1000, leaks.dig("growth", "bytes_per_thousand"), 6_000_000
    low, high = leaks.dig("growth", "interval")
    assert_operator low, :>, 0
    assert_operator high, :>, low
    said = ended.out[/\A.*?\n\n/m]
    assert_match(/^- .*\(baseline\): [\d.]+ MiB a thousand requests/, said)
    assert_equal 1, said.scan("a thousand requests").size, said
    # Longer windows are no remedy for trials that are not steady because memory grows; a noisy host may want them.
    refute_match(/not steady after their warm-up; [^;]*longer windows/, ended.out.gsub(/\s+/, " "))
  end
end
