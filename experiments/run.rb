# frozen_string_literal: true

# The ready experiments, a line each:
#
#   ruby experiments/run.rb [NAME...]         rehearses all, or those: does every configuration of it start, serve and end?
#   ruby experiments/run.rb full [NAME...]    makes their tables, experiments/NAME/TABLE.md, and puts them into their pages
#
# Exit code 1 when one of them failed; what cannot run on this machine, such as Passenger in a chroot, is named. It wants the
# binary built (make build), or named in POWERBAND_BINARY, and what `script/bootstrap experiments` installs.

require "fileutils"
require_relative "support/binary"
require_relative "support/command"
require_relative "support/passenger"

$stdout.sync = true
# By Ctrl-C the one that runs ends as by any other signal, and so does this.
%w[INT TERM].each { |signal| trap(signal) { exit 130 } }

# A file of configurations (`powerband.toml` or another in its folder), or the folder's script `run`.
class Experiment
  # The exit code of a configuration that is refused before anything is measured.
  REFUSED = 2
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

  # Why it cannot be run on this machine; nil where it can.
  def forbidden
    Passenger.forbidden if File.file?(@file) && File.read(@file).match?(/^kind = "passenger"/)
  end

  # Why it was refused, where that is for a version that this machine does not have; nil for any other end.
  def lacking(code)
    return unless code == REFUSED && File.exist?(log)

    File.readlines(log, chomp: true).grep(/gem install|no such Ruby is installed/).first&.delete_prefix("powerband: ")
  end

  # The folder of copied data that its configuration names, which others may name, too.
  def data
    file = own_script? ? "#{File.dirname(@file)}/powerband.toml" : @file
    File.read(file)[%r{target/experiments/\w+}]
  end

  # The exit code.
  def run(full:)
    FileUtils.mkdir_p(MADE)
    full ? printed : conduct(false, %i[out err] => log)
  end

  def log
    "#{MADE}/#{file_name}.log"
  end

  private

  def conduct(full, told)
    Command.run({ "POWERBAND_BINARY" => BINARY }, *words(full), chdir: ROOT, **told).exitstatus || 1
  end

  # Into the page goes what was printed, undecided as well: that is a result.
  def printed
    FileUtils.rm_f(table)
    code = conduct(true, out: log)
    return code unless code.zero? || (code == 3 && undecided?)

    Page.new(@file).print(@part, File.read(table))
    0
  end

  def undecided?
    File.exist?(table) && File.read(table).include?("undecided")
  end

  def words(full)
    begun = own_script? ? [@file] : [BINARY, "compare", "--config", from_root(@file)]
    return [*begun, "--markdown", from_root(table)] if full

    [*begun, "--rehearse", "--markdown", "#{MADE}/#{file_name}.md"]
  end

  # Whether it is a script that asks for more than one comparison.
  def own_script? = @part == "run"

  def own? = %w[powerband run].include?(@part)

  def file_name = @name.tr("/", "-")

  def table = "#{File.dirname(@file)}/TABLE#{"-#{@part}" unless own?}.md"

  # Pages quote the command as anybody may type it.
  def from_root(path) = path.delete_prefix("#{ROOT}/")
end

# An experiment's page, which ends with what was printed.
class Page
  HEADING = "## What it printed"

  def initialize(file)
    @path = "#{File.dirname(file)}/README.md"
  end

  # A section for each file of configurations, which replaces its older one.
  def print(part, table)
    heading = %w[powerband run].include?(part) ? HEADING : "#{HEADING}: #{part}"
    before, _, after = File.read(@path).partition(/^#{Regexp.escape(heading)}$/)
    following = after[/^#{HEADING}.*/mo] || ""
    sections = [before.rstrip, "#{heading}\n\n#{table.strip}", following.strip].reject(&:empty?)
    File.write(@path, "#{sections.join("\n\n")}\n")
  end
end

# Prints one line for each experiment when it has ended. Rehearsals measure nothing, so that two may run at once, though
# never on the same data.
class Conductor
  def initialize(full:)
    @full = full
  end

  # Those that failed.
  def run(experiments)
    @full ? one_by_one(experiments) : in_lanes(sharing(experiments))
  end

  private

  LANES = 2

  def one_by_one(experiments) = experiments.reject { |one| told(one) }

  # The experiments on each copy of data, the longest list first; those on none by themselves.
  def sharing(experiments)
    lists = experiments.group_by { |one| one.data || one.name }.values
    lists.sort_by { |list| -list.size }
  end

  def in_lanes(lists)
    waiting = Queue.new
    lists.each { |list| waiting << list }
    waiting.close
    lanes = Array.new(LANES) { Thread.new { lane(waiting) } }
    lanes.flat_map(&:value)
  end

  def lane(waiting)
    failed = []
    while (list = waiting.pop)
      failed.concat(one_by_one(list))
    end
    failed
  end

  def not_run(one, reason)
    puts format("%<how>-6s  %<name>-22s  %<reason>s\n", how: "NOT RUN", name: one.name, reason:)
    true
  end

  # Whether it went well.
  def told(one)
    if (reason = one.forbidden)
      return not_run(one, reason)
    end

    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    code = one.run(full: @full)
    if (reason = one.lacking(code))
      return not_run(one, reason)
    end

    took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    puts format("%<how>-6s  %<name>-22s  %<took>4d s%<log>s\n", how: code.zero? ? "ok" : "FAILED", name: one.name, took:,
                                                                log: code.zero? ? "" : "  exit code #{code}, see #{one.log}")
    code.zero?
  end
end

full = ARGV.first == "full" && ARGV.shift
all = Experiment.all
unknown = ARGV - all.map(&:name)
abort "no experiment #{unknown.join(', ')}; there are #{all.map(&:name).join(', ')}" if unknown.any?

asked = all.select { |one| ARGV.empty? || ARGV.include?(one.name) }
exit 1 if Conductor.new(full:).run(asked).any?
