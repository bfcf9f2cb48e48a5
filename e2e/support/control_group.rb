# frozen_string_literal: true

require "fileutils"
require "securerandom"

# A control group with a CPU quota and a memory limit, as a pod has them: version 2, or version 1 where the controllers
# are mounted one by one.
class ControlGroup
  ROOT = "/sys/fs/cgroup"
  PERIOD_US = 100_000

  # Why there can be none here; nil where there can.
  def self.lacks
    return "control groups want root" unless Process.uid.zero?
    return if v1? || v2?

    "neither a writable cgroup v1 (cpu, memory) nor a cgroup v2 that delegates both is mounted"
  end

  def self.v1?
    %w[cpu memory].all? { |controller| File.writable?("#{ROOT}/#{controller}/cgroup.procs") }
  end

  def self.v2?
    controllers = File.read("#{ROOT}/cgroup.subtree_control").split
    (%w[cpu memory] - controllers).empty? && File.writable?(ROOT)
  rescue SystemCallError
    false
  end

  def initialize(cores:, memory_bytes:)
    @name = "powerband-e2e-#{SecureRandom.hex(4)}"
    quota_us = (cores * PERIOD_US).round
    self.class.v1? ? limit_v1(quota_us, memory_bytes) : limit_v2(quota_us, memory_bytes)
  end

  # Before the words of a command that runs in the group.
  def inside
    joins = folders.map { |folder| "echo $$ > #{folder}/cgroup.procs" }
    ["sh", "-c", "#{joins.join(' && ')} && exec \"$@\"", "sh"]
  end

  # The share of the periods in which the quota was used up, and their number.
  def throttled
    stat = File.readlines("#{folders.first}/cpu.stat").to_h { |line| line.split.then { |name, value| [name, value.to_f] } }
    [stat["nr_throttled"] / [stat["nr_periods"], 1].max, stat["nr_periods"]]
  end

  # Memory that is not the page cache's.
  def anonymous_bytes
    stat = File.readlines("#{folders.last}/memory.stat").to_h(&:split)
    (stat["total_rss"] || stat.fetch("anon")).to_i
  end

  # Processes that the kernel killed because the limit was reached.
  def killed_for_memory
    events = self.class.v1? ? "memory.oom_control" : "memory.events"
    File.read("#{folders.last}/#{events}")[/^oom_kill (\d+)$/, 1].to_i
  end

  # Its processes must have ended.
  def remove
    folders.each { |folder| Dir.rmdir(folder) if Dir.exist?(folder) }
  end

  private

  def folders
    self.class.v1? ? %w[cpu memory].map { |controller| "#{ROOT}/#{controller}/#{@name}" } : ["#{ROOT}/#{@name}"]
  end

  def limit_v1(quota_us, memory_bytes)
    cpu, memory = folders.each { |folder| FileUtils.mkdir(folder) }
    File.write("#{cpu}/cpu.cfs_period_us", PERIOD_US)
    File.write("#{cpu}/cpu.cfs_quota_us", quota_us)
    File.write("#{memory}/memory.limit_in_bytes", memory_bytes)
  end

  def limit_v2(quota_us, memory_bytes)
    folder = folders.first.tap { |made| FileUtils.mkdir(made) }
    File.write("#{folder}/cpu.max", "#{quota_us} #{PERIOD_US}")
    File.write("#{folder}/memory.max", memory_bytes)
  end
end
