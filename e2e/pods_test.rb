# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/pid_namespace"
require_relative "support/servers"

# Servers in separate PID namespaces, as in pods: arms are saved pod by pod and compared, and each pod says which processes run.
class PodsTest < PowerbandTest
  include Servers

  # Each pod's arm, and how many requests it serves before and after its counters are first saved.
  PODS = { "stable-1" => ["stable", 3, 4], "stable-2" => ["stable", 2, 6], "canary-1" => ["canary", 5, 5],
           "canary-2" => ["canary", 1, 7] }.freeze
  # A hundred times as long a wait, so that the order holds on a busy machine.
  WAITS = { "stable" => "100", "canary" => "1" }.freeze

  def setup
    super
    lacks = PidNamespace.lacks
    skip lacks if lacks
  end

  def test_arms_are_compared_pod_by_pod
    sites = PODS.to_h { |pod, (arm, *)| [pod, served(pod, arm)] }
    save("before", sites) { |_, before, _| before }
    save("after", sites) { |_, _, after| after }
    since = saved("before").flat_map { |file| ["--since", file] }
    ended = powerband("inspect", *saved("after"), *since, "--json")
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "inspect-v1")
    assert_arms JSON.parse(ended.out).fetch("interval")
    page = powerband("inspect", *saved("after"), *since).out.split.join(" ")
    assert_includes page, "Requests by arm (POWERBAND_ARM; each pod counts the same)"
    assert_includes page, "after-canary-1.json"
  ensure
    sites&.each_value { |site| stop(site, :KILL) }
  end

  # An older agent writes neither lock nor namespace, so that its process may be in any container.
  def test_nobody_died_in_another_pod
    one, other = %w[stable-1 canary-1].map { |pod| served(pod, "") }
    get(one, "stable-1", 1)
    recorded = Dir[File.join(flight("stable-1"), "*/*.flight")].fetch(0)
    older = without_lock_and_namespace(recorded)
    inside = [one, other].map { |site| PidNamespace.of(site.started.pid) }
    assert_equal %w[live live live], [[], *inside].map { |words| state(recorded, words) }
    assert_equal %w[live unknown], inside.map { |words| state(older, words) }
    assert_equal PidNamespace.first? ? "live" : "unknown", state(older)
    assert_memory_is_of_this_namespace flight("stable-1"), inside.first
    stop(one, :KILL)
    one = nil
    assert_equal %w[died died], [[], inside.last].map { |words| state(recorded, words) }
    assert_equal "unknown", state(older, inside.last)
    assert_equal PidNamespace.first? ? "died" : "unknown", state(older)
  ensure
    [one, other].compact.each { |site| stop(site, :KILL) }
  end

  private

  def flight(pod) = File.join(@dir, "flight-#{pod}")

  def saved(name) = PODS.keys.map { |pod| File.join(@dir, "#{name}-#{pod}.json") }

  def served(pod, arm)
    inject = [*PidNamespace::NEW, BINARY, "run", "--flight-dir", flight(pod), "--"]
    puma(File.join(APPS, "io"), before: inject, threads: 1, env: { "POWERBAND_ARM" => arm, "WAIT_MS" => WAITS[arm] }.compact)
  end

  # Inside each pod, one after the other, as with `kubectl exec`.
  def save(name, sites)
    sites.zip(saved(name)) do |(pod, site), file|
      get(site, pod, yield(PODS.fetch(pod)))
      ended = finish(start(*PidNamespace.of(site.started.pid), BINARY, "inspect", flight(pod), "--save", file))
      assert_equal 0, ended.code, ended.to_s
    end
  end

  # Until the last one is recorded.
  def get(site, pod, requests)
    before = recorded(pod)
    requests.times { assert_equal "200", site.get("/").code }
    await("the last request's record") { recorded(pod) == before + requests }
  end

  def recorded(pod)
    ended = powerband("inspect", "--json", flight(pod))
    ended.code.zero? ? JSON.parse(ended.out).dig("requests", "requests") : 0
  end

  def assert_arms(interval)
    assert_equal [4, 0, 0], interval.values_at("continued", "started", "gone")
    arms = interval.fetch("arms").to_h { |arm| [arm["arm"], arm] }
    pods = arms.transform_values { |arm| arm["pods"].to_h { |pod| [File.basename(pod["file"]), pod["requests"]] } }
    assert_equal({ "after-canary-1.json" => 5, "after-canary-2.json" => 7 }, pods["canary"])
    assert_equal({ "after-stable-1.json" => 4, "after-stable-2.json" => 6 }, pods["stable"])
    assert_equal 4, arms.values.flat_map { |arm| arm["pods"].map { |pod| pod["pid_namespace"] } }.uniq.size
    against = arms["stable"]["against"]
    ratio = against["ratio"]
    assert_equal ["canary", nil], against.values_at("arm", "why_not")
    assert_operator ratio["estimate"], :>, 1
    assert_operator ratio["low"], :<, ratio["estimate"]
    assert_operator ratio["high"], :>, ratio["estimate"]
  end

  # Elsewhere the process has no number, or another process's.
  def assert_memory_is_of_this_namespace(folder, inside)
    folder = File.join(folder, Process.uid.to_s)
    here, elsewhere = [inside, []].map { |words| finish(start(*words, BINARY, "inspect", "--prometheus", folder)).out }
    [here, elsewhere].each { |text| assert_includes text, "\npowerband_processes 1\n" }
    assert_operator here[/^powerband_resident_memory_bytes (\d+)$/, 1].to_i, :>, 1 << 20
    refute_includes elsewhere, "powerband_resident_memory_bytes"
  end

  def state(file, inside = [])
    ended = finish(start(*inside, BINARY, "inspect", "--json", file))
    assert_equal 0, ended.code, ended.to_s
    JSON.parse(ended.out).fetch("processes").fetch(0).fetch("state")
  end

  # The header's flag bit 2, and its bytes from 480 to 503.
  def without_lock_and_namespace(file)
    bytes = File.binread(file)
    bytes[124, 4] = [bytes[124, 4].unpack1("L<") & ~4].pack("L<")
    bytes[480, 24] = "\0" * 24
    File.join(@dir, "older.flight").tap { |path| File.binwrite(path, bytes) }
  end
end
