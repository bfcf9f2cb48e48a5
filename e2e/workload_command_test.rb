# frozen_string_literal: true

require_relative "support/powerband"

# A command in each configuration's environment instead of a server: what its runs took, and that nothing of it is left.
class WorkloadCommandTest < PowerbandTest
  # Holds memory for a time, part of it in a child process, and marks that it ran.
  SCRIPT = <<~'RUBY'
    mib, seconds = Integer(ENV.fetch("MIB", "40")), Float(ENV.fetch("SECONDS", "1.2"))
    abort "there is no #{ENV["BREAKS"]}" if ENV.key?("BREAKS")
    child = fork { sleep } if ENV.key?("LEAVES")
    held = Array.new(mib) { "x" * (1 << 20) }
    sleep seconds
    File.write("ran", ENV.fetch("RAILS_ENV") + "\n", mode: "a")
  RUBY

  def test_twice_the_memory_is_found_worse_and_the_time_is_not
    page = File.join(@dir, "table.md")
    ended = command("env.MIB=60", "env.MIB=120", "--blocks", 6, "--margin", "20%", "--markdown", page, env: { "LEAVES" => "1" })
    assert_equal 0, ended.code, ended.to_s
    assert_match(/\[trial 12 of 12, (about|a few) .* left, until \d\d:\d\d\]$/, ended.err)
    run = document
    assert_valid_run_document File.read(File.join(run_folders.fetch(0), "run.json"))
    assert_empty run["trials"]
    runs = run["command"]["runs"]
    assert_equal 12, runs.size
    assert_equal (1..6).flat_map { |block| [block, block] }, runs.map { |one| one["block"] }
    runs.each { |one| assert_operator one["samples"].size, :>=, 1 }
    found = run["command"]["comparisons"].to_h { |comparison| [comparison["metric"], comparison] }
    assert_equal %w[wall_time median_memory peak_memory], found.keys
    %w[median_memory peak_memory].each do |metric|
      assert_equal "worse", found[metric]["outcome"], found.inspect
      assert_operator found[metric]["low"], :>, 1.2
    end
    refute_equal "worse", found["wall_time"]["outcome"], found.inspect
    first, second = run["command"]["arms"]
    assert_operator second["memory"]["p50_bytes"] - first["memory"]["p50_bytes"], :>, 50 << 20
    assert_match(/3 comparisons stand side by side/, ended.out)
    assert_match(/median memory +\+\d/, ended.out)
    assert_match(/^\| env\.MIB=120 against env\.MIB=60 \| median memory \|/, File.read(page))
    assert_equal ["test\n"] * 12, File.readlines(File.join(@dir, "ran"))
  end

  def test_identical_configurations_are_not_told_apart_by_their_memory
    named("[[arm]]\nname = \"one\"\n[[arm]]\nname = \"other\"\n")
    ended = command("--blocks", 6, "--margin", "20%", "--json")
    assert_includes [0, 3], ended.code, ended.to_s
    run = JSON.parse(ended.out)
    assert_equal %w[one other], run["command"]["arms"].map { |arm| arm["called"] }
    memory = run["command"]["comparisons"].select { |comparison| comparison["metric"].end_with?("memory") }
    assert_equal %w[equivalent equivalent], memory.map { |comparison| comparison["outcome"] }, ended.to_s
  end

  def test_a_command_that_fails
    ended = command("env.MIB=1", "env.BREAKS=glass", "--rehearse", "--quiet")
    assert_equal 3, ended.code, ended.to_s
    assert_match(/the command failed in env\.BREAKS=glass/, ended.out)
    assert_match(/exit status 1/, ended.out)
    shown = powerband("report", run_folders.fetch(0))
    assert_equal ended.out, shown.out, shown.to_s
    ended = command("env.BREAKS=glass", "env.MIB=1", "--blocks", 6)
    assert_equal 3, ended.code, ended.to_s
    assert_match(/env\.BREAKS=glass cannot be measured: it failed \(exit status 1\).*there is no glass/m, ended.err)
    newest = document(run_folders.max)
    assert_equal "failed", newest["state"]
    breaking = newest["command"]["runs"].select { |run| run["arm"].start_with?("env.BREAKS") }
    assert_equal 2, breaking.count { |run| run["failed"]&.include?("glass") }
  end

  def test_nothing_is_left_of_one_that_is_interrupted_and_none_is_resumed
    started = start(*words("env.MIB=1", "env.MIB=2", "--blocks", 6), env: { "LEAVES" => "1", "SECONDS" => "60" })
    await("both processes of the command", of: started) { marked_like(/\A\d+ ruby work\.rb/).size >= 2 }
    started.signal(:INT)
    ended = finish(started)
    assert_equal 130, ended.code, ended.to_s
    assert_nothing_left_running
    refute_match(/--resume/, ended.err)
    assert_equal "interrupted", document["state"]
    again = command("env.MIB=1", "env.MIB=2", "--blocks", 6, "--resume", run_folders.fetch(0))
    assert_refused again, 2, /runs of a command are not resumed/
  end

  def test_one_that_takes_too_long_is_ended
    ended = command("env.MIB=1", "env.MIB=2", "--rehearse", "--command-timeout", "1500ms", env: { "SECONDS" => "60" })
    assert_equal 3, ended.code, ended.to_s
    assert_match(/not done within 2 s and was ended/, ended.out)
    assert_nothing_left_running
  end

  def test_what_the_command_s_processes_do_not_have_fails_its_run
    rehearsed = lambda do |arms, command|
      powerband("compare", *arms, "--rehearse", "--runs", runs, "--app", @dir, "--workload-command", command)
    end
    ended = rehearsed.call(%w[value.mib=1 value.mib=2], "MIB={mib} ruby work.rb && test -z \"$TOKEN\"")
    assert_equal 0, ended.code, ended.to_s
    assert_match(/`MIB=\{mib\} ruby work\.rb/, ended.out)
    ended = rehearsed.call(%w[env.MIB=1 env.MIB=2], "env -u MIB ruby work.rb; true")
    assert_equal 3, ended.code, ended.to_s
    assert_match(/env\.MIB = 1 \(MIB=1\) was asked, and none of the command's processes had it/, ended.out)
  end

  def test_what_only_a_server_has_is_refused
    refused = command("threads=2,nginx.workers=2", "warmup=on,pool=3", "--slo", "p99=1s", "--calibrate")
    assert_refused refused, 2, /threads in SETTINGS is a server's/, /nginx\.workers is a server's/, /warmup is a server's/,
                   /pool is a server's/, /--slo = "p99=1s": means nothing/, /--calibrate = "10": means nothing/
    named("[workload]\ncommand = \"ruby work.rb\"\n")
    assert_refused powerband("tune", chdir: @dir), 2, /workload\.command in powerband\.toml: no knob is named/
    assert_refused powerband("capacity", "--slo", "p99=1s", chdir: @dir), 2,
                   /workload\.command in powerband\.toml: capacity sends requests, and runs no command/
    assert_refused tuned("--knobs", "env.SECONDS=1,2", "--rate", "80/s", "--workers", "1,2", "--knobs", "warmup=on"), 2,
                   %r{--rate = "80/s": means nothing to --workload-command}, /--workers = "1,2": means nothing/,
                   /warmup is a server's/
    assert_no_run_folder
  end

  # Known to be the best: two are too few, eight are too many, four and five are as good.
  def test_tune_finds_the_best_value_and_those_that_are_as_good
    seconds = '{ 2 => 2.2, 4 => 1.2, 5 => 1.2, 8 => 1.9 }.fetch(Integer(ENV.fetch("JOBS")))'
    File.write(File.join(@dir, "work.rb"), "sleep(#{seconds})\n")
    named(<<~TOML)
      [workload]
      command = "JOBS={jobs} ruby work.rb"
      [tune]
      knobs = ["value.jobs=2,4,5,8"]
      margin = "20%"
      blocks = 6
      budget = "5m"
    TOML
    ended = powerband("tune", "--runs", runs, chdir: @dir, within: 240)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/baseline: value\.jobs=2 /, ended.err)
    assert_match(/\ARun with value\.jobs=[45]: the command takes less time than with value\.jobs=2 \(wall time -\d/, ended.out)
    assert_match(/As good in the elimination rounds, within 20 %: value\.jobs=[45]\./, ended.out.gsub(/\s+/, " "))
    assert_tuned document
    again = powerband("tune", "--runs", runs, "--resume", run_folders.fetch(0), chdir: @dir)
    assert_equal 0, again.code, again.to_s
    assert_equal ended.out, again.out
  end

  def test_tune_keeps_what_is_best_already_and_refuses_a_budget_that_is_too_short
    work = "SECONDS={seconds} MIB=1 ruby work.rb"
    ended = tuned("--knobs", "value.seconds=1.1,2.2", "--blocks", 6, "--budget", "5m", command: work)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/\AKeep value\.seconds=1\.1: no other configuration was faster/, ended.out)
    refute_includes document["command"]["runs"].map { |run| run["stage"] }, "confirm"
    short = tuned("--knobs", "value.seconds=1.1,2.2", "--budget", "10s", command: work)
    assert_equal 2, short.code, short.to_s
    assert_match(/--budget = "10s": too short for \d+ runs.*give --budget \d+m/, short.err)
  end

  def setup
    super
    File.write(File.join(@dir, "work.rb"), SCRIPT)
  end

  private

  # Each value raced, today's and the winner in the blocks of the comparison.
  def assert_tuned(run)
    assert_valid_run_document JSON.generate(run)
    runs = run["command"]["runs"]
    assert_equal %w[pilot race confirm], runs.map { |one| one["stage"] }.uniq
    assert_equal 12, runs.count { |one| one["stage"] == "confirm" }
    wall = run["command"]["comparisons"].find { |comparison| comparison["metric"] == "wall_time" }
    assert_equal %w[confirm better], wall.values_at("stage", "outcome")
    slow = run["command"]["arms"].find { |arm| arm["called"] == "value.jobs=8" }
    assert_match(/behind value\.jobs=/, slow["fate"])
  end

  def tuned(*more, command: "ruby work.rb")
    powerband("tune", *more, "--workload-command", command, "--runs", runs, "--app", @dir)
  end

  def named(text)
    File.write(File.join(@dir, "powerband.toml"), text)
  end

  def words(*more)
    [BINARY, "compare", *more, "--workload-command", "ruby work.rb", "--runs", runs]
  end

  def command(*more, env: {})
    powerband(*words(*more).drop(1), env: env)
  end
end
