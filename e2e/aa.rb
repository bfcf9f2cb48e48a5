# frozen_string_literal: true

# How often the procedure sees a difference that is not there:  ruby e2e/aa.rb [COMPARISONS, 20 by default] [FILE]
# Each comparison is of one configuration with itself, and a verdict of better or worse is a false positive. Their table is
# kept in FILE (target/aa.md by default) after each of them, and what stands there is not done again, so that
# twenty may be spread over days; a comparison without an answer stands there too, and is done again. It fails only when so
# many false positives or more would come with a probability under 1 % from a procedure that errs in 5 %.
require "json"
require "open3"
require "tmpdir"
require_relative "support/binomial"

# Comparisons of identical arms, one a seed, and the table of what they came to.
class IdenticalArms
  ROOT = File.expand_path("..", __dir__)
  BINARY = ENV.fetch("POWERBAND_BINARY", File.join(ROOT, "target/release/powerband"))
  NOMINAL = 0.05
  NO_ANSWER = "no answer"
  HEAD = %w[run ratio interval verdict blocks p].freeze

  # The storefront is a whole Rails application, which is what the claim is about.
  WORDS = ["compare", "threads=2", "threads=2", "--config", "#{ROOT}/examples/storefront/powerband.toml", "--blocks", "6",
           "--window", ENV.fetch("AA_WINDOW", "1s"), "--json", "--quiet"].freeze

  def initialize(wanted, path)
    @wanted = wanted
    @path = path
    @rows = File.exist?(path) ? read : {}
  end

  def run
    puts line(HEAD), *@rows.values.map { |row| "#{line(row)}  (from before)" }
    (1..@wanted).each do |number|
      next if @rows.key?(number) && @rows[number][3] != NO_ANSWER

      @rows[number] = compare(number)
      puts line(@rows[number])
      $stdout.flush
      write
    end
    puts "", summary
  end

  # Whether a procedure that keeps its level would come to this count.
  def credible?
    Binomial.plausible?(false_positives, of: answered.size, at: NOMINAL)
  end

  def answered
    @rows.values.reject { |row| row[3] == NO_ANSWER }
  end

  private

  def compare(number)
    Dir.mktmpdir do |runs|
      out, err, = Open3.capture3(BINARY, *WORDS, "--seed", number.to_s, "--runs", runs)
      return [number, "", "", NO_ANSWER, 0, err.lines.last.to_s.strip.tr("|", "/")[0, 100]] if out.empty?

      found = JSON.parse(out).fetch("comparisons").fetch(0)
      interval = found.values_at("low", "high").map { |bound| bound ? format("%.3f", bound) : "none" }.join(" to ")
      [number, format("%.3f", found["ratio"]), interval, found["outcome"], found["blocks"], format("%.3f", found["p"])]
    end
  rescue JSON::ParserError, IndexError => e
    [number, "", "", NO_ANSWER, 0, e.message.lines.first.to_s.strip.tr("|", "/")[0, 100]]
  end

  def line(cells)
    "| #{cells.join(' | ')} |"
  end

  def read
    rows = File.readlines(@path, chomp: true).grep(/\A\| \d+ \|/)
    rows.to_h do |row|
      number, *cells = row.delete_prefix("| ").delete_suffix(" |").split(" | ", -1)
      [Integer(number), [Integer(number), *cells]]
    end
  end

  # Written to a temporary file and renamed: an interruption costs one comparison and not the table.
  def write
    text = [line(HEAD), "|#{'---|' * HEAD.size}", *@rows.sort.map { |_, row| line(row) }, "", summary, ""].join("\n")
    File.write("#{@path}.writing", text)
    File.rename("#{@path}.writing", @path)
  end

  def false_positives
    answered.count { |row| %w[better worse].include?(row[3]) }
  end

  def summary
    failed = @rows.size - answered.size
    chance = Binomial.at_least(false_positives, of: answered.size, at: NOMINAL)
    unanswered = failed.zero? ? "" : ", #{failed} more had no answer"
    "#{false_positives} false positives in #{answered.size} comparisons of identical arms#{unanswered}; " \
      "so many or more have a probability of #{format('%.3f', chance)} where #{(NOMINAL * 100).round} % err."
  end
end

if $PROGRAM_NAME == __FILE__
  identical = IdenticalArms.new(Integer(ARGV.fetch(0, 20)), ARGV.fetch(1, "#{IdenticalArms::ROOT}/target/aa.md"))
  identical.run
  abort "not one comparison came to an answer" if identical.answered.empty?
  abort "more than a rate of 5 % explains" unless identical.credible?
end
