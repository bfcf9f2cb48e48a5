# frozen_string_literal: true

require_relative "../support/powerband"
require_relative "../support/servers"

# docs/mirror.md's example: users of a Redmine are duplexed onto two further ones with other settings of Puma, the one of them
# that is better is named, and what was recorded is what `tune` then measures with.
class MirrorRedmineTest < PowerbandTest
  include Servers

  WORKLOAD = File.join(ROOT, "e2e/redmine/workload.toml")
  SECONDS = 60

  def test_which_of_two_candidates_is_better_and_a_recording_that_tune_takes
    skip "Redmine is not installed: script/bootstrap installs it" unless File.exist?("#{REDMINE}/config.ru")
    primary = redmine(threads: 3)
    few = redmine(threads: 1)
    many = redmine(threads: 5)
    recording, log = %w[traffic.pbc pairs.pbc].map { |name| File.join(@dir, name) }
    document = duplexed(primary, { "few" => few, "many" => many }, recording, log)
    between = document["comparisons"].find { |one| [one["candidate"], one["reference"]].sort == %w[few many] }
    refute_nil between, document["comparisons"].to_s
    assert_compared_again log, document
    [primary, few, many].each { |server| stop(server) }
    tuned_on recording
  end

  private

  # A minute of browsing through the mirror; what it prints at the end.
  def duplexed(primary, shadows, recording, log)
    port = free_port
    copies = shadows.flat_map { |name, server| ["--shadow", "#{name}=#{server.url.chomp('/')}"] }
    mirror = start(BINARY, "mirror", "--listen", "127.0.0.1:#{port}", "--primary", primary.url.chomp("/"), *copies, "--record",
                   recording, "--shadow-log", log, "--json")
    await("the mirror to listen", of: mirror) { listens?(port) }
    load = powerband("load", "http://127.0.0.1:#{port}", "--workload", WORKLOAD, "--rate", "6", "--duration", "#{SECONDS}s",
                     "--json", "--quiet", within: SECONDS + 60)
    assert_includes [0, 3], load.code, load.to_s
    answered = JSON.parse(load.out)["counts"]["answered"]
    mirror.signal(:TERM)
    ended = finish(mirror)
    assert_equal 0, ended.code, ended.to_s
    JSON.parse(ended.out).tap { |document| assert_equal answered, document["requests"] }
  end

  def assert_compared_again(log, document)
    again = powerband("compare", "--shadow-log", log, "--json")
    assert_includes [0, 1, 3], again.code, again.to_s
    figures = ->(found) { found["comparisons"].map { |one| one.values_at("candidate", "reference", "outcome") } }
    assert_equal figures.call(document), figures.call(JSON.parse(again.out))
  end

  def tuned_on(recording)
    small = ["--workers", "0", "--threads", "1,5", "--max-arms", "2", "--blocks", "6", "--window", "2s", "--budget", "15m"]
    ended = powerband("tune", "--config", File.join(ROOT, "e2e/redmine.toml"), "--workload", recording, *small, "--runs", runs,
                      "--json", "--quiet", within: 1200)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_valid_run_document ended.out
    named = JSON.parse(ended.out)["plan"]["workload"].map { |entry| entry["name"] }
    assert_operator named.size, :>, 3, "the pages that were recorded: #{named.join(', ')}"
  end
end
