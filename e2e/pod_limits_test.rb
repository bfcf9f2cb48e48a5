# frozen_string_literal: true

require "shellwords"
require_relative "support/powerband"
require_relative "support/control_group"

# Servers in control groups that powerband makes for them: the limits of a pod as knobs.
class PodLimitsTest < PowerbandTest
  GROUPS = "/sys/fs/cgroup"

  def setup
    super
    skip ControlGroup.lacks if ControlGroup.lacks
  end

  def test_a_quota_stops_the_server_and_the_group_goes_with_the_run
    words = experiment("compare", "threads=1,pod.cpus=0.2,pod.memory=256MiB", "threads=1", "--rehearse", app: "cpu")
    ended = measured(*words.drop(1), within: 120)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/What the limits of the pod did/, ended.out)
    pods = document.fetch("trials").to_h { |trial| [trial.fetch("arm"), trial["pod"]] }
    limited = pods.fetch("w0t1-pod.cpus-0.2-pod.memory-256MiB")
    assert_equal [0.2, 256 << 20], limited.values_at("cpus", "memory_bytes")
    assert_operator limited.dig("saturation", "throttled"), :>, 0, limited.to_s
    assert_equal 0, limited.fetch("oom_kills")
    assert_nil pods.fetch("w0t1")
    assert_empty groups_left
  end

  def test_a_kill_for_memory_is_the_cause_of_the_failure
    ended = powerband(*experiment("compare", "pod.memory=16MiB", "pod.memory=1GiB", "--rehearse").drop(1))
    assert_refused ended, 3, /the kernel killed \d process(es)? of the server at pod\.memory=16MiB; allow more memory/
    assert_empty groups_left
  end

  def test_where_no_group_can_be_made_nothing_is_started
    command = experiment("compare", "pod.cpus=0.5", "pod.cpus=1").shelljoin
    read_only = "for mount in $(cut -d' ' -f2 /proc/mounts | grep ^#{GROUPS}); do mount -o remount,bind,ro $mount; done"
    ended = finish(start("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", "#{read_only}\nexec #{command}"))
    assert_refused ended, 2, /no control group can be made for pod\.cpus=[\d.]+: .*Read-only/,
                   /systemd-run --user --scope/
    assert_empty Dir[File.join(runs, "*", "trials", "*")]
  end

  private

  # Groups that no process has a use for any more.
  def groups_left
    Dir["#{GROUPS}/**/powerband-[0-9]*"].reject { |folder| File.exist?("/proc/#{folder[/\d+\z/]}") }
  end
end
