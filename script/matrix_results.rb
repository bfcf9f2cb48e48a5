# frozen_string_literal: true

# What the steps of script/matrix gave: the verdict of each, and the table of all.

require "fileutils"
require "json"

# Run in a root: what is installed there.
VERSIONS = <<~'RUBY'
  require "json"
  newest = ->(name) { Gem::Specification.find_all_by_name(name).map(&:version).max&.to_s }
  found = %w[puma rails unicorn sidekiq rack falcon pitchfork].to_h { |name| [name, newest.call(name)] }
  found["rails"] = newest.call("railties")
  found["passenger"] = `dpkg-query -W -f '${Version}' libapache2-mod-passenger 2>/dev/null`[/\A[\d.]+/]
  found["ruby"] = RUBY_PATCHLEVEL.negative? ? "#{RUBY_VERSION}dev #{RUBY_RELEASE_DATE}" : RUBY_VERSION
  puts JSON.generate(found.compact)
RUBY

# How many tests passed, why others were skipped, and what failed.
Outcome = Struct.new(:passes, :skips, :failures) do
  def self.failed(why)
    new(0, [], [why])
  end

  def +(other)
    Outcome.new(passes + other.passes, skips + other.skips, failures + other.failures)
  end

  def passed?
    failures.empty? && passes.positive?
  end

  def words
    return "#{Outcome::FAILS}: #{failures.uniq.join(', ')}" unless failures.empty?
    return "not run: #{skips.uniq.join('; ')}" if passes.zero?

    "pass (#{passes}#{"; #{skips.size} not: #{skips.uniq.join('; ')}" unless skips.empty?})"
  end
end

# How the verdict of a failure begins, and that of a row that has no such step.
Outcome::FAILS = "**fails**"
Outcome::NONE = "–"

# Minitest's own words. Nothing counts as passed that was not run: neither a file that cannot be loaded, which leaves the tests of
# the files before it, nor a program that ended before its tests did.
class MinitestOutput
  SUMMARY = /^(\d+) runs, \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips/

  def initialize(text, status)
    @text = text
    @status = status
  end

  def outcome
    return Outcome.failed(missing) if missing
    return Outcome.failed("no test ran (#{@status})") if summary.nil? || summary.first.zero?

    passes = summary.first - summary.drop(1).sum
    Outcome.new(passes, @text.scan(/^ +\d+\) Skipped:\n.*\n(.+)$/).flatten, failures)
  end

  private

  def missing
    @text[/cannot load such file -- .+?(?=[)(\n])/]
  end

  def summary
    @summary ||= @text.scan(SUMMARY).last&.map(&:to_i)
  end

  def failures
    named = @text.scan(/^ +\d+\) (?:Failure|Error):\n([\w:]+#\w+)/).flatten
    named.empty? && !@status.success? ? ["its tests ended with #{@status}"] : named
  end
end

# One server or library in a cell, with the verdict of each step. `runs`: the days and revisions of the runs that gave them.
Row = Struct.new(:cell, :suite, :versions, :what, :verdicts, :runs) do
  # How the column "what" begins.
  def self.label(what)
    (what == OLD_RUBY ? "puma" : what).capitalize
  end

  # Whether it has any of the steps that were run.
  def applicable?
    verdicts.values.any? { |words| words != Outcome::NONE }
  end

  # A step that could not be run is shown, and is no failure where another one passed.
  def passed?
    said = verdicts.values
    said.none? { |words| words.start_with?(Outcome::FAILS) } && said.any? { |words| words.start_with?("pass") }
  end

  def cells
    ["#{cell.tr('+', ' ')} (#{suite})", versions["ruby"].to_s, about, *COLUMNS.map { |name| verdicts[name] || Outcome::NONE },
     Array(runs).join(", ")]
  end

  # This row with the verdicts of `before` for the steps that it does not have.
  def over(before)
    with = dup
    with.verdicts = before.verdicts.merge(verdicts)
    with.runs = Array(before.runs) | runs
    with
  end

  private

  def about
    label = Row.label(what)
    with = ", Puma #{versions['puma']}" if what == "rails"
    PACKAGED.include?(what) ? label : "#{label} #{versions[label.downcase]}#{with}"
  end
end

# The rows of all cells that were run, in a file, so that they may be run one by one.
class Results
  PLACE = /(?<=<!-- matrix -->\n).*(?=<!-- matrix -->)/m
  HEAD = ["cell", "Ruby", "what", *COLUMNS, "run on"].freeze

  def self.table(rows)
    lines = [HEAD, HEAD.map { "---" }, *rows]
    lines.map { |cells| "| #{cells.map { |text| text.gsub('|', '\|') }.join(' | ')} |\n" }.join
  end

  # The rows of a table's text.
  def self.rows(text)
    lines = text.lines(chomp: true).grep(/\A\|/).drop(2)
    lines.map { |line| line[2..-3].split(" | ", -1).map { |cell| cell.gsub('\|', "|") } }
  end

  # Where a row stands: the place of its cell, the name of its root, and its place in the cell. nil where the row is gone.
  def self.place(cells)
    name = cells.first
    cell = CELLS.find { |one| one.name == name.split.first }
    row = cell&.rows&.index { |one| cells[2].start_with?(Row.label(one)) }
    row && [CELLS.index(cell), name, row]
  end

  def initialize(file)
    @file = file
    @rows = File.exist?(file) ? JSON.parse(File.read(file)).map { |values| Row.new(*values) } : []
  end

  # Of rows of which only some `steps` ran, the other verdicts stay, if they are of the same versions. Where the versions are not
  # known, nothing ran, and the row stays as it was.
  def add(rows, steps = [])
    rows.select(&:applicable?).each do |row|
      before = @rows.find { |one| [one.cell, one.what] == [row.cell, row.what] }
      next if before && steps.any? && row.versions.empty?

      @rows.delete(before)
      @rows << (before && steps.any? && before.versions == row.versions ? row.over(before) : row)
    end
    FileUtils.mkdir_p(File.dirname(@file))
    File.write("#{@file}.new", JSON.pretty_generate(@rows.map(&:to_a)))
    File.rename("#{@file}.new", @file)
  end

  # Into a page, whose other rows stay: they are of other machines. nil where it has no place for them.
  def write(page)
    text = File.read(page)
    there = text[PLACE] or return
    rows = (Results.rows(there) + @rows.map(&:cells)).to_h { |cells| [Results.place(cells), cells] }
    sorted = rows.select { |place, _| place }.sort.map(&:last)
    File.write(page, text.sub(PLACE) { "\n#{Results.table(sorted)}\n" })
  end
end
