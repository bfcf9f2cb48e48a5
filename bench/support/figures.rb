# frozen_string_literal: true

require "json"
require "open3"
require_relative "build"

# How the benchmarks judge and show what they measured: by the project's own statistics, in Markdown.
module Figures
  module_function

  # Interleaved rounds of a baseline and a candidate: the ratio with its interval, and what the project's own test says.
  Compared = Struct.new(:ratio, :low, :high, :verdict, keyword_init: true) do
    def text(digits)
      ratio, low, high = [self.ratio, self.low, self.high].map { |figure| figure && format("%.#{digits}f", figure) }
      low ? "#{ratio} (#{low} to #{high})" : ratio
    end
  end

  def compare(target, baseline, candidate)
    pairs = baseline.zip(candidate).map { |pair| pair.join(" ") }.join("\n")
    output, status = Open3.capture2("#{target}/release/examples/ratio", stdin_data: pairs)
    raise "the ratio's interval was refused" unless status.success?

    found = JSON.parse(output, symbolize_names: true)
    Compared.new(**found.slice(:ratio, :low, :high, :verdict))
  end

  # What the block makes of each arm in each round, by arm. Every round has a different order, so that no arm has the
  # same place in all of them.
  def rounds(count, arms, random)
    made = arms.to_h { |arm| [arm, []] }
    count.times do |number|
      arms.shuffle(random:).each { |arm| made[arm] << yield(arm, number + 1) }
    end
    made
  end

  def markdown(head, rows)
    ([head, head.map { "---" }] + rows).map { |cells| "| #{cells.join(' | ')} |\n" }.join
  end

  def median(values)
    sorted = values.sort
    (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
  end

  # Prints the tables and writes them. Only a full run replaces the committed ones.
  def publish(bench, text, full:)
    file = full ? "#{Build::ROOT}/bench/#{bench}/RESULTS.md" : "#{Build::TARGET}/bench-#{bench}.md"
    File.write(file, text)
    puts text
    warn "bench/#{bench}: written to #{file}"
  end

  def machine
    cpu = File.read("/proc/cpuinfo")[/^model name\s*: (.*)/, 1]
    "#{cpu}, #{`nproc --all`.strip} cores, Linux #{File.read('/proc/sys/kernel/osrelease').strip}"
  end
end
