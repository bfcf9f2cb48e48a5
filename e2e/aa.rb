# frozen_string_literal: true

# How often the procedure sees a difference that is not there:  ruby e2e/aa.rb [COMPARISONS, 20 unless told otherwise]
# Each comparison is of one configuration with itself, and a verdict of better or worse is a false positive. It fails only
# when so many or more would come with a probability under 1 % from a procedure that errs in 5 %.
require "json"
require "open3"
require "tmpdir"
require_relative "support/binomial"

ROOT = File.expand_path("..", __dir__)
BINARY = ENV.fetch("POWERBAND_BINARY", File.join(ROOT, "target/release/powerband"))
NOMINAL = 0.05
LEAST_LIKELY = 0.01
SETTINGS = { "HELD_MS" => "3", "WAIT_MS" => "9" }.freeze

def compare(number)
  Dir.mktmpdir do |runs|
    command = [BINARY, "compare", "threads=2", "threads=2", "--app", "#{ROOT}/e2e/apps/mixed", "--window", "1s",
               "--seed", number.to_s, "--runs", runs, "--json", "--quiet"]
    out, err, = Open3.capture3(SETTINGS, *command)
    return [nil, err.lines.last.to_s.chomp] if out.empty?

    comparison = JSON.parse(out).fetch("comparisons").fetch(0)
    [comparison.fetch("outcome"), "ratio #{comparison.fetch('ratio').round(3)}, p #{comparison.fetch('p').round(3)}"]
  end
end

wanted = Integer(ARGV.fetch(0, 20))
outcomes = (1..wanted).filter_map do |number|
  outcome, figures = compare(number)
  puts "#{number}: #{outcome || 'no answer'} (#{figures})"
  $stdout.flush
  outcome
end
false_positives = outcomes.count { |outcome| %w[better worse].include?(outcome) }
chance = Binomial.at_least(false_positives, of: outcomes.size, at: NOMINAL)
puts "#{false_positives} false positives in #{outcomes.size} comparisons; " \
     "so many or more have a probability of #{chance.round(4)} where #{(NOMINAL * 100).round} % err"
abort "not one comparison came to an answer" if outcomes.empty?
abort "more than a rate of #{(NOMINAL * 100).round} % explains" if chance < LEAST_LIKELY
