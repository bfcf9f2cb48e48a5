# frozen_string_literal: true

require_relative "../support/powerband"

# The ready experiment's queue, with a Redis and a process of Sidekiq.
class SidekiqThreadsTest < PowerbandTest
  FOLDER = File.expand_path("../../experiments/sidekiq-threads", __dir__)

  # One thread waits 45 ms of each job; ten keep Ruby busy.
  def test_tune_finds_that_one_thread_is_too_few
    lacks = %w[redis-server sidekiq].reject { |program| installed?(program) }
    skip "#{lacks.join(' and ')} not installed: script/bootstrap installs it" unless lacks.empty?
    ended = powerband("tune", "--config", File.join(FOLDER, "powerband.toml"), "--knobs", "value.concurrency=1,10",
                      "--env", "JOBS=60", "--blocks", 6, "--runs", runs, within: 400)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/\ARun with value\.concurrency=10: the command takes less time than with value\.concurrency=1 /, ended.out)
    assert_equal [], document["command"]["runs"].filter_map { |run| run["failed"] }
    assert_nothing_left_running
  end

  private

  def installed?(program)
    ENV.fetch("PATH").split(":").any? { |folder| File.executable?(File.join(folder, program)) }
  end
end
