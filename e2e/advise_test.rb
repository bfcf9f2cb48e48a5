# frozen_string_literal: true

require "shellwords"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband advise` on a real Puma: what its collections suggest is suggested, and `--prove` starts each as a configuration.
class AdviseTest < PowerbandTest
  parallelize_me!

  include Servers

  def test_a_low_limit_is_named_with_the_figures_and_the_command_that_tests_it
    # So low that objects' memory outside of their slots sets off most collections.
    environment = { "RUBY_GC_MALLOC_LIMIT" => "65536", "RUBY_GC_MALLOC_LIMIT_MAX" => "65536" }
    site = allocating(environment)
    150.times { site.get("/allocate") }
    ruby = JSON.parse(site.get("/").body)
    document = advised
    suggestion = document["suggestions"].find { |one| one["check"] == "malloc limit" }

    assert suggestion, document["left"].inspect
    assert_equal({ "gc.malloc_limit" => "16MiB", "gc.malloc_limit_max" => "32MiB" }, suggestion["settings"])
    found = suggestion["evidence"].match(/\A(\d+) of (\d+) /).captures.map { |count| Integer(count) }
    assert_operator found.first, :<=, found.last
    assert_operator found.last, :<=, ruby["minor_gc_count"]
    assert_equal site.started.pid, document["looked_at"]["environment_of"]
    assert_command(document["command"])
    page = powerband("advise", flight_dir)
    assert_equal 0, page.code, page.to_s
    assert_match(/Worth a test\n- malloc limit: gc\.malloc_limit=16MiB/, page.out)
    file = File.join(@dir, "advice.json")
    File.write(file, JSON.generate(document))
    assert_equal page.out.lines.first, powerband("report", file).out.lines.first
    stop(site)
    # Its file keeps what it was started with.
    ended = advised
    assert_equal site.started.pid, ended["looked_at"]["environment_of"]
    assert_includes ended["command"], "RUBY_GC_MALLOC_LIMIT=65536"
    assert_the_command_starts(ended["command"])
    assert_each_suggestion_is_started(ended)
    other = powerband("advise", flight_dir, "--application", "/nowhere")
    assert_refused other, 2, %r{--application = "/nowhere": no process of it}, /they are of #{Regexp.escape(app)}/
  end

  def test_nothing_recorded_and_a_folder_that_is_not_there
    nowhere = powerband("advise", File.join(@dir, "nowhere"))
    assert_equal 2, nowhere.code, nowhere.to_s
    Dir.mkdir(flight_dir)
    empty = powerband("advise", flight_dir)
    assert_equal 3, empty.code, empty.to_s
  end

  private

  def assert_command(command)
    words = command.split
    assert_equal %w[powerband compare], words.first(2)
    assert_includes words, "RUBY_GC_MALLOC_LIMIT=65536"
    assert_includes words, "threads=2,workers=0"
  end

  # Starts each configuration of the printed command; --app and --path say what a user's folder would.
  def assert_the_command_starts(command)
    words = Shellwords.split(command).drop(1)
    rehearsed = powerband(*words, "--rehearse", "--app", app, "--path", "/", "--json", "--runs", runs)
    assert_equal 0, rehearsed.code, rehearsed.to_s
    refute_includes JSON.parse(rehearsed.out).fetch("trials").map { |trial| trial["status"] }, "failed"
  end

  # The application's folder is that of the files, and its variables are those of the server.
  def assert_each_suggestion_is_started(document)
    table = File.join(@dir, "table.md")
    words = ["--prove", "--rehearse", "--path", "/", "--json", "--markdown", table, "--runs", runs]
    proven = powerband("advise", flight_dir, *words)
    assert_equal 0, proven.code, proven.to_s
    run = JSON.parse(proven.out)
    assert_valid_run_document proven.out
    tested = run.dig("proof", "suggestions")
    assert_equal document.fetch("suggestions").map { |one| one.values_at("check", "settings", "evidence") },
                 tested.map { |one| one.values_at("check", "settings", "evidence") }
    assert_equal ["prove", "threads=2,workers=0"], [run["kind"], run.dig("proof", "today")]
    assert_equal tested.map { |one| one["arm"] }, run.fetch("arms").drop(1).map { |arm| arm["name"] }
    assert_match(/^\| malloc limit \| `gc\.malloc_limit=16MiB, /, File.read(table))
    assert_trials_have_the_variables run
    assert_refused powerband("advise", flight_dir, "--rate", "9"), 2, /--rate: advise reads what was recorded/
  end

  def assert_trials_have_the_variables(run)
    held = run.fetch("proof").fetch("environment")
    assert_equal({ "RUBY_GC_MALLOC_LIMIT" => "65536", "RUBY_GC_MALLOC_LIMIT_MAX" => "65536" }, held)
    refute_includes run.fetch("trials").map { |trial| trial["status"] }, "failed"
  end

  def allocating(environment)
    puma(app, before: [BINARY, "run", "--flight-dir", flight_dir, "--"], env: environment)
  end

  def app
    File.join(APPS, "collecting")
  end

  def flight_dir
    File.join(@dir, "flight")
  end

  def advised
    ended = powerband("advise", flight_dir, "--json")
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "advise-v1")
    JSON.parse(ended.out)
  end
end
