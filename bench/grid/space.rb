# frozen_string_literal: true

# What both search: the same processes, threads and knobs.
class Space
  attr_reader :workers, :threads, :knobs, :rounds, :finalists, :budget

  # Knobs are given by their values other than the application's; the search's budget is a quarter of what the grid took
  # where none is given.
  def initialize(workers:, threads:, knobs:, rounds:, finalists:, budget: nil)
    @workers = workers
    @threads = threads
    @knobs = knobs
    @rounds = rounds
    @finalists = finalists
    @budget = budget
  end

  # A grid's configurations, the baseline first: single mode with three threads, as `rails new` has it.
  def arms
    levels = knobs.map { |knob, values| [nil, *values.map { |value| "#{knob}=#{value}" }] }
    places = workers.product(threads, *levels).map { |w, t, *set| Space.arm(w, t, set.compact) }
    [BASELINE, *(places - [BASELINE])]
  end

  # The flags by which `tune` searches the same.
  def flags
    chosen = knobs.flat_map { |knob, values| ["--knobs", "#{knob}=#{values.join(',')}"] }
    ["--workers", workers.join(","), "--threads", threads.join(","), *chosen]
  end

  def described
    knobs = self.knobs.map { |knob, values| "`#{knob}` as it is or #{values.join(' or ')}" }
    "workers #{workers.join(', ')}; threads #{threads.join(', ')}; #{knobs.join('; ')}"
  end

  # One configuration as `compare` takes it. The grid's clusters all preload, as Puma's do by default.
  def self.arm(workers, threads, set, preload: true)
    ["workers=#{workers}", "threads=#{threads}", *("preload=#{preload}" if workers.positive?), *set].join(",")
  end

  BASELINE = arm(0, 3, [])

  # Of the synthetic application's knobs it is known that the first matters wherever Ruby is what is short, and the second only
  # where threads are.
  KNOBS = { "synthetic" => { "env.HELD_MS" => %w[3.6], "env.WAIT_MS" => %w[8] } }.freeze
  USUAL = { "allocator" => %w[jemalloc], "gc.malloc_limit_max" => %w[128MiB] }.freeze

  def self.of(name)
    new(workers: [0, 2, 3], threads: [1, 2, 3, 5], knobs: KNOBS.fetch(name, USUAL), rounds: 3, finalists: 4)
  end

  QUICK = new(workers: [0], threads: [2, 3], knobs: { "malloc_arena_max" => %w[2] }, rounds: 1, finalists: 1, budget: "4m")
end
