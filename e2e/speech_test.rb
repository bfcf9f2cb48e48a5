# frozen_string_literal: true

require_relative "support/powerband"

# What goes to stdout and what to stderr, and the verbs that measure nothing.
class SpeechTest < PowerbandTest
  parallelize_me!

  # One run, made once, that every test here shows in its own way: a sample of the contract as a run folder.
  def setup
    super
    sample = File.join(ROOT, "contract/samples/run/compare.json")
    folder = File.join(runs, JSON.parse(File.read(sample)).fetch("id"))
    FileUtils.mkdir_p(File.join(folder, "trials"))
    FileUtils.cp(sample, File.join(folder, "run.json"))
  end

  def test_report_shows_the_newest_run
    ended = powerband("report", "--runs", runs)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/^What was tried$/, ended.out)
    assert_match(/^The deciding comparison$/, ended.out)
    assert_empty ended.err
  end

  def test_what_only_experts_want_is_printed_in_full
    refute_match(/^Details$/, powerband("report", "--runs", runs).out)
    assert_match(/^Details$/, powerband("report", "--runs", runs, "--full").out)
    both = powerband("report", "--runs", runs, "--full", "--json")
    assert_equal 2, both.code, both.to_s
    assert_match(/'--full' cannot be used with '--json'/, both.err)
  end

  def test_a_page_that_is_no_terminals_has_no_colour
    [{}, { "NO_COLOR" => "1" }].each do |env|
      refute_match(/\e\[/, powerband("report", "--runs", runs, env: env).out)
    end
  end

  # `script` runs the binary in a terminal.
  def test_no_color_is_honoured_on_a_terminal
    command = "#{BINARY} report --runs #{runs}"
    coloured = finish(start("script", "-qec", command, "/dev/null", env: { "TERM" => "xterm", "NO_COLOR" => nil }))
    plain = finish(start("script", "-qec", command, "/dev/null", env: { "TERM" => "xterm", "NO_COLOR" => "1" }))
    assert_match(/\e\[/, coloured.out, "a terminal that shows colour gets none: NO_COLOR proves nothing")
    refute_match(/\e\[[\d;]*m/, plain.out)
  end

  def test_a_reader_that_went_away
    ended = finish(start("sh", "-c", '"$0" report --runs "$1" | head -1; "$0" man | head -1', BINARY, runs))
    assert_equal 0, ended.code, ended.to_s
    assert_empty ended.err
    assert_equal 2, ended.out.lines.size, ended.to_s
  end

  def test_report_as_json_is_the_document
    ended = powerband("report", "--runs", runs, "--json")
    assert_equal document, JSON.parse(ended.out)
    assert_empty ended.err
  end

  def test_runs_lists_them_and_names_what_cannot_be_read
    damaged = File.join(runs, "29990101-000000-tune-0000")
    FileUtils.mkdir_p(damaged)
    File.write(File.join(damaged, "run.json"), "{")
    ended = powerband("runs", "--runs", runs)
    assert_equal 0, ended.code, ended.to_s
    assert_includes ended.out, document["id"]
    assert_match(/29990101-000000-tune-0000/, ended.err)
  end

  def test_report_without_a_run
    ended = powerband("report", "--runs", File.join(@dir, "none"))
    assert_refused ended, 2, /there is no run under/, /powerband tune/
  end

  def test_completions_and_the_manual_page
    %w[bash zsh fish].each do |shell|
      ended = powerband("completions", shell)
      assert_equal 0, ended.code
      assert_match(/max-memory/, ended.out, shell)
    end
    page = powerband("man")
    assert_equal 0, page.code
    assert_match(/\A\.ie|\A\.TH/, page.out)
    assert_match(/Exit codes/, page.out)
  end

  def test_help_goes_to_stdout_and_wrong_usage_to_stderr
    assert_match(/tune/, powerband("--help").out)
    ended = powerband("nonsense")
    assert_equal 2, ended.code
    assert_empty ended.out
  end
end
