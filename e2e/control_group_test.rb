# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/control_group"

# Commands in a control group with limits, as in a pod: its limits count, the node's load does not.
class ControlGroupTest < PowerbandTest
  LIMIT_BYTES = 2000 << 20

  def setup
    super
    skip ControlGroup.lacks if ControlGroup.lacks
    @group = ControlGroup.new(cores: 0.2, memory_bytes: LIMIT_BYTES)
  end

  # The processes of a failed test end in the parent's teardown.
  def teardown
    super
    @group&.remove
  end

  def test_doctor_judges_by_the_groups_quota_and_throttling
    spinning = start(*@group.inside, RbConfig.ruby, "-e", "loop { }")
    await("the quota to be used up", of: spinning) { @group.throttled.then { |share, periods| share > 0.5 && periods > 10 } }
    spinning.signal(:KILL)
    finish(spinning)
    ended = finish(start(*@group.inside, BINARY, "doctor", "--json"))
    assert_equal 1, ended.code, ended.to_s
    document = JSON.parse(ended.out)
    found = document["findings"].to_h { |finding| [finding["check"], finding] }
    assert_match(/0\.2/, found.fetch("cpu-quota")["evidence"])
    assert_equal "harms_server", found.fetch("cpu-throttling")["severity"]
    refute_includes found, "load"
  end

  def test_tune_takes_nine_tenths_of_the_groups_memory_limit
    words = experiment("tune", "--budget", "5m", "--threads", "1,2")
    running = start(*@group.inside, *words, env: LIGHT)
    await("the plan", of: running) { run_folders.any? { |folder| File.exist?(File.join(folder, "run.json")) } }
    running.signal(:INT)
    assert_equal 130, finish(running).code, running.to_s
    assert_equal 1800 << 20, document.dig("plan", "objective", "max_memory_bytes")
  end
end
