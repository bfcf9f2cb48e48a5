# frozen_string_literal: true

# A GVL cycle with and without recording it.
class Cycle
  THREADS = [1, 16, 64].freeze

  def initialize(bench, rounds:, cycles:)
    @bench = bench
    @rounds = rounds
    @cycles = cycles
  end

  def table
    rows = THREADS.map do |threads|
      figures = @bench.rounds(@rounds, "a GVL cycle, #{threads} threads") do |arm|
        Float(@bench.ruby("cycle_once.rb", arm, threads, @cycles))
      end
      none, ours, usual = figures.values_at("none", "powerband", "usual")
      [threads, nanoseconds(none), "#{nanoseconds(ours)} (#{more(none, ours)})", "#{nanoseconds(usual)} (#{more(none, usual)})"]
    end
    Figures.markdown(["threads in a request", "no hook, ns", "Powerband, ns", "the usual way, ns"], rows)
  end

  private

  def nanoseconds(values) = format("%.0f", Figures.median(values))

  # Paired by round: the machine's speed drifts from one to the next.
  def more(none, arm)
    format("%+.0f", Figures.median(none.zip(arm).map { |without, with| with - without }))
  end
end

# The cost of recording a request, against a bare call of the application.
class Request
  def initialize(bench, rounds:, requests:)
    @bench = bench
    @rounds = rounds
    @requests = requests
  end

  def table
    figures = @bench.rounds(@rounds, "a request", %w[powerband usual]) do |arm|
      JSON.parse(@bench.ruby("request_once.rb", arm, @requests))
    end
    rows = [row("Powerband, around the application", figures["powerband"], "wrapped"),
            row("Powerband, with the server's own time", figures["powerband"], "served"),
            row("the usual way", figures["usual"], "wrapped")]
    Figures.markdown(["", "CPU more than bare, µs", "Ruby objects more"], rows)
  end

  private

  def row(name, rounds, which)
    cpu, objects = [0, 1].map { |at| Figures.median(rounds.map { |round| round[which][at] - round["bare"][at] }) }
    [name, format("%.2f", cpu / 1000), format("%.3f", objects)]
  end
end

# What a process pays in memory, and whether that grows.
class Memory
  def initialize(bench, requests:)
    @bench = bench
    @requests = requests
  end

  def table
    figures = %w[none powerband].to_h do |arm|
      @bench.progress "memory, #{arm}"
      [arm, JSON.parse(@bench.ruby("memory_once.rb", arm, @requests))]
    end
    none, ours = figures.values_at("none", "powerband")
    at_start, at_end = %w[start end].map { |at| ours[at] - none[at] }
    Figures.markdown(["", "PSS more than without, KiB"],
                     [["a full ring", at_start], ["after #{@requests} requests more", at_end]])
  end
end
