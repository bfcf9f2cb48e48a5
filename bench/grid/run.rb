# frozen_string_literal: true

# `tune --knobs` against an exhaustive grid of the same space: `ruby bench/grid/run.rb`, or one or more of `synthetic storefront
# redmine redmine-postgresql` as arguments. QUICK=1 takes a few minutes and proves that it works, not how good the search is;
# RESUME=1 takes what an
# earlier sitting of the same SEED has finished.
# Writes results/NAME.md for each; see README.md in this folder.

require "fileutils"
require "json"
require_relative "../support/build"
require_relative "../support/figures"

Build.release("bench/grid", "powerband-cli")
# Which want the binary that was just built.
require_relative "../../experiments/support/binary"
require_relative "../../experiments/support/command"
require_relative "space"
require_relative "powerband"
require_relative "trials"
require_relative "beside"
require_relative "page"

$stdout.sync = true
# By Ctrl-C the tool ends as by any other signal, and so does this.
%w[INT TERM].each { |signal| trap(signal) { exit 130 } }

APPLICATIONS = %w[synthetic storefront redmine redmine-postgresql].freeze
unknown = ARGV - APPLICATIONS
abort "bench/grid: no application #{unknown.join(', ')}; there are #{APPLICATIONS.join(', ')}" if unknown.any?

seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
quick = ENV["QUICK"] == "1"
(ARGV.empty? ? APPLICATIONS : ARGV).each do |name|
  space = quick ? Space::QUICK : Space.of(name)
  made = Beside.new(name, space, seed).measure
  Page.new(made, seed).write unless quick
  puts "#{name}: the search's configuration carries #{made.against_best.text(3)} of the best of the grid's"
end
