# frozen_string_literal: true

# The ready experiments, a line each:
#
#   ruby experiments/run.rb [NAME...]         rehearses all, or those: does every configuration of it start, serve and end?
#   ruby experiments/run.rb full [NAME...]    makes their tables, experiments/NAME/TABLE.md
#
# Exit code 1 when one of them failed. It wants the binary built (make build), or named in POWERBAND_BINARY, and what
# `script/bootstrap experiments` installs.

require "fileutils"
require_relative "support/binary"
require_relative "support/command"

$stdout.sync = true
# By Ctrl-C the one that runs ends as by any other signal, and so does this.
%w[INT TERM].each { |signal| trap(signal) { exit 130 } }

# A file of configurations, `powerband.toml` or another one beside it, or a folder's own script `run`.
class Experiment
  FOLDERS = Dir["#{__dir__}/*/powerband.toml"].map { |file| File.dirname(file) }

  attr_reader :name

  def self.all
    files = FOLDERS.sort.flat_map { |folder| File.exist?("#{folder}/run") ? ["#{folder}/run"] : Dir["#{folder}/*.toml"] }
    files.map { |file| new(file) }
  end

  def initialize(file)
    @file = file
    @folder = File.basename(File.dirname(file))
    @part = File.basename(file, ".toml")
    @name = own? ? @folder : "#{@folder}/#{@part}"
  end

  # The exit code.
  def run(full:)
    FileUtils.mkdir_p(MADE)
    words = @part == "run" ? [@file] : [BINARY, "compare", "--config", from_root(@file)]
    words << "--rehearse" unless full
    words.push("--markdown", full ? from_root(table) : "#{MADE}/#{file_name}.md")
    told = full ? { out: log } : { %i[out err] => log }
    Command.run({ "POWERBAND_BINARY" => BINARY }, *words, chdir: ROOT, **told).exitstatus || 1
  end

  def log
    "#{MADE}/#{file_name}.log"
  end

  private

  def own? = %w[powerband run].include?(@part)

  def file_name = @name.tr("/", "-")

  def table = "#{File.dirname(@file)}/TABLE#{"-#{@part}" unless own?}.md"

  # Pages quote the command as anybody may type it.
  def from_root(path) = path.delete_prefix("#{ROOT}/")
end

full = ARGV.first == "full" && ARGV.shift
all = Experiment.all
unknown = ARGV - all.map(&:name)
abort "no experiment #{unknown.join(', ')}; there are #{all.map(&:name).join(', ')}" if unknown.any?

failed = all.select { |one| ARGV.empty? || ARGV.include?(one.name) }.reject do |one|
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  code = one.run(full:)
  took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  puts format("%<how>-6s  %<name>-18s  %<took>4d s%<log>s", how: code.zero? ? "ok" : "FAILED", name: one.name, took:,
                                                            log: code.zero? ? "" : "  exit code #{code}, see #{one.log}")
  code.zero?
end
exit 1 if failed.any?
