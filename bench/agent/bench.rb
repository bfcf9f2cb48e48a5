# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"

# What the parts share: the arms, their environments, the native part, the order of rounds.
class Bench
  ROOT = File.expand_path("../..", __dir__)
  HERE = __dir__
  ARMS = %w[none powerband usual].freeze

  attr_reader :random, :seed, :folder, :target

  def initialize
    @seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
    @random = Random.new(@seed)
    @target = ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target")
    @folder = Dir.mktmpdir("bench-agent-")
    at_exit { FileUtils.remove_entry(@folder) }
    Build.release("bench/agent", "powerband-cli")
    Build.release("bench/agent", "powerband-stats", "--example", "ratio")
    Build.run("bench/agent", "ruby", "gem/ext/powerband/build.rb")
    @native = native
  end

  def powerband = "#{target}/release/powerband"

  # What the block gives in each round, by arm.
  def rounds(count, what, arms = ARMS)
    Figures.rounds(count, arms, random) do |arm, number|
      progress "#{what}, round #{number} of #{count}: #{arm}"
      yield arm
    end
  end

  # The environment of a measured process. Every arm loads the native part, so that only the arm differs.
  def environment(arm)
    {
      "AGENT_BENCH_SO" => @native, "AGENT_BENCH_ARM" => arm, "POWERBAND_DIR" => "#{folder}/flight", "RUBYOPT" => nil,
      "RUBYLIB" => arm == "powerband" ? "#{ROOT}/gem/lib" : nil
    }
  end

  def ruby(script, arm, *words)
    output, status = Open3.capture2(environment(arm), "ruby", "#{HERE}/#{script}", arm, *words.map(&:to_s))
    raise "#{script} #{arm} failed" unless status.success?

    output
  end

  def compare(baseline, candidate) = Figures.compare(target, baseline, candidate)

  def progress(text)
    warn "bench/agent: #{text}"
  end

  private

  def native
    Dir.chdir(folder) do
      FileUtils.mkdir("native")
      FileUtils.cp(Dir["#{HERE}/native/*"], "native")
      Build.run("bench/agent", "sh", "-c", "cd native && ruby extconf.rb && make", chdir: folder)
      File.join(folder, "native/agent_bench.so")
    end
  end
end
