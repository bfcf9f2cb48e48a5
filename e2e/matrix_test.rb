# frozen_string_literal: true

require "fileutils"
require "minitest"
require "open3"
require "tmpdir"
require_relative "../script/matrix_cells"
require_relative "../script/matrix_recipe"
require_relative "../script/matrix_results"
require_relative "../script/matrix_root"

# script/matrix as far as no root is made: what it refuses, its results and its lock. It needs neither root nor a network.
class MatrixTest < Minitest::Test
  parallelize_me!

  ROOT = File.expand_path("..", __dir__)
  VERSION = { "ruby" => "3.3.8", "sidekiq" => "8.1.7" }.freeze

  # A copy, so that no roots, results and lock of this checkout are touched.
  def setup
    @dir = File.realpath(Dir.mktmpdir("powerband-matrix-"))
    @script = File.join(@dir, "script/matrix")
    FileUtils.mkdir_p(File.dirname(@script))
    FileUtils.cp(Dir[File.join(ROOT, "script/matrix*")], File.dirname(@script))
    @file = File.join(@dir, "target/matrix/results.json")
  end

  def teardown
    FileUtils.rm_rf(@dir)
  end

  def test_the_list_has_each_cell_with_its_rows
    out, err, status = matrix("--list")
    assert_equal ["", 0], [err, status.exitstatus]
    assert_equal CELLS.map(&:name), out.lines.map { |line| line[/\S+/] }
    assert_match(/^testing-puma +testing: puma$/, out)
    assert_match(/^alpine +--root: puma, rails, packages without dpkg$/, out)
  end

  def test_the_root_that_is_given_is_alpines_and_for_its_cell_alone
    FileUtils.mkdir_p(File.join(@dir, "given/etc"))
    given = ["--root", File.join(@dir, "given")]
    assert_refused(%r{No such file or directory .*/etc/alpine-release}, "alpine", *given)
    File.write(File.join(@dir, "given/etc/alpine-release"), "3.20.3\n")
    ["alpine", ["testing", *given], ["alpine", "testing", *given]].each do |words|
      assert_refused(/--root FOLDER and the cell alpine belong together; give both/, *words)
    end
    assert_refused(%r{no /nowhere/powerband}, "alpine", *given, env: { "POWERBAND_BINARY" => "/nowhere/powerband" })
    recipe = Recipe.new(CELLS.find { |cell| cell.name == "alpine" }, @dir, from: File.join(@dir, "given"))
    assert_equal %w[alpine 3.20.3], [recipe.root.name, recipe.suite]
    refute_path_exists File.join(@dir, "target")
  end

  def test_what_is_in_no_cell_is_refused_before_a_root_is_made
    assert_refused(/no cell debian11; there are debian12, /, "debian11")
    assert_refused(/invalid argument: --only turbo/, "--only", "turbo")
    assert_refused(/--only rails is no row of testing-puma; name one of debian13, testing, unstable, alpine$/,
                   "testing-puma", "--only", "rails")
    assert_refused(/--only falcon is no row of debian12, .*; name one of others$/, "--only", "falcon")
    assert_refused(/--step knobs is no step of sidekiq; name one of agent$/, "testing", "--only", "sidekiq", "--step", "knobs")
    assert_refused(%r{no /nowhere/powerband: run `cargo build}, "testing", env: { "POWERBAND_BINARY" => "/nowhere/powerband" })
    refute_path_exists File.join(@dir, "target")
  end

  def test_roots_in_use_are_not_removed
    made = FileUtils.mkdir_p(File.join(@dir, "target/matrix/roots/testing/etc")).first
    File.open(File.join(@dir, "target/matrix/lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      assert_refused(/another script.matrix uses .*; wait for its end/, "--clean")
    end
    assert_path_exists made
    assert_equal 0, matrix("--clean").last.exitstatus
    refute_path_exists File.dirname(made)
  end

  def test_a_step_that_was_reaped_is_no_error
    pid = Process.spawn("sleep", "300")
    Root.end_namespace(pid)
    assert_raises(Errno::ECHILD) { Process.wait(pid) }
    Root.end_namespace(nil)
    Root.end_namespace((2**22) + 1) # above the greatest process id
  end

  def test_a_part_of_the_steps_is_judged_alone_and_merged
    add row("agent" => "**fails**: A#b", "knobs" => "pass (2)", on: "2026-11-26 aaa")
    fresh = row("agent" => "pass (1)", on: "2026-11-27 bbb")
    add fresh, steps: ["agent"]
    assert_predicate fresh, :passed?
    assert_equal({ "agent" => "pass (1)" }, fresh.verdicts)
    assert_table(/\| pass \(1\) \| – \| – \| pass \(2\) \| – \| 2026-11-26 aaa, 2026-11-27 bbb \|$/)
  end

  def test_a_failure_of_a_step_that_did_not_run_does_not_decide
    add row("agent" => "**fails**: A#b", "knobs" => "pass (2)")
    fresh = row("knobs" => "pass (2)")
    add fresh, steps: ["knobs"]
    assert_predicate fresh, :passed?
    assert_table(/\| \*\*fails\*\*: A#b \| – \| – \| pass \(2\) \|/)
  end

  def test_verdicts_of_other_versions_are_dropped
    add row("agent" => "pass (1)", "knobs" => "pass (2)")
    add row("agent" => "pass (3)", versions: VERSION.merge("ruby" => "3.4.11")), steps: ["agent"]
    assert_table(/\| 3\.4\.11 \| Sidekiq 8\.1\.7 \| pass \(3\) \| – \| – \| – \| – \|/)
  end

  def test_a_root_that_cannot_be_made_leaves_the_results_of_other_steps
    add row("agent" => "pass (1)", "knobs" => "pass (2)")
    broken = row("agent" => "**fails**: mmdebstrap failed", versions: {})
    add broken, steps: ["agent"]
    refute_predicate broken, :passed?
    assert_table(/\| 3\.3\.8 \| Sidekiq 8\.1\.7 \| pass \(1\) \| – \| – \| pass \(2\) \|/)
    add broken
    assert_table(/mmdebstrap failed/)
  end

  def test_a_row_without_such_a_step_neither_passes_nor_fails
    dash = row("short tune" => Outcome::NONE)
    refute_predicate dash, :applicable?
    add dash, steps: ["short tune"]
    refute_includes table, "Sidekiq"
    assert_predicate row("agent" => "not run: no server"), :applicable?
  end

  def test_results_without_a_day_show_none
    FileUtils.mkdir_p(File.dirname(@file))
    File.write(@file, JSON.generate([["testing", "testing", VERSION, "sidekiq", { "agent" => "pass (6)" }]]))
    assert_table(/\| Sidekiq 8\.1\.7 \| pass \(6\) \| – \| – \| – \| – \|  \|$/)
    assert_refused(/is no page with two lines/, "--table", @file)
  end

  def test_rows_of_other_machines_stay_on_the_page_in_the_order_of_the_cells
    add row("agent" => "pass (7)", on: "2026-11-28 bbb")
    kept = "| unstable (unstable) | 3.3.8 | Unicorn 6.1.0 | pass (5) | a \\| b | – | – |  | 2026-11-26 |"
    first = "| debian13 (trixie) | 3.3.8 | Packages | pass (7) | – | – | – | pass (3) | 2026-11-26 |"
    older = "| testing (testing) | 3.3.8 | Sidekiq 8.1.7 | pass (6) | – | – | – | – | 2026-11-26 aaa |"
    gone = ["| debian11 (bullseye) | 2.7 | Puma 4 | pass (1) | – | – | – | – | |",
            "| testing-puma (testing) | 3.3.8 | Falcon 1 | pass (1) | – | – | – | – | 2026-11-26 |"]
    shown = table([kept, older, *gone, first])
    rows = shown.lines(chomp: true).grep(/^\|/).drop(2)
    assert_equal [first, older.sub("pass (6)", "pass (7)").sub("26 aaa", "28 bbb"), kept], rows
    assert_equal shown, table(rows)
  end

  # A test that was renamed would no longer run.
  def test_each_part_of_a_pattern_selects_a_test
    ROWS.values.flat_map(&:values).flatten.grep(Tests).each do |step|
      text = step.files.map { |file| File.read(File.join(ROOT, "#{file}.rb")) }.join
      names = text.scan(/^ *(?:class|def) (\w*[Tt]est\w*)/).flatten
      step.only.to_s.split("|").each { |part| assert names.grep(/#{part}/).any?, "#{part} in #{step.files.join(', ')}" }
    end
  end

  private

  def row(versions: VERSION, on: "2026-11-26 aaa", **verdicts)
    Row.new("testing", "testing", versions, "sidekiq", verdicts, [on])
  end

  def add(row, steps: [])
    Results.new(@file).add([row], steps)
  end

  # The page, which had these rows.
  def table(rows = [])
    page = File.join(@dir, "page.md")
    File.write(page, "<!-- matrix -->\n\n#{['| cell |', '| --- |', *rows].join("\n")}\n\n<!-- matrix -->\n")
    _, err, status = matrix("--table", page)
    assert_equal ["", 0], [err, status.exitstatus]
    File.read(page)
  end

  def assert_table(line)
    assert_match line, table
  end

  def assert_refused(message, *arguments, env: {})
    out, err, status = matrix(*arguments, env: env)
    assert_equal ["", 2], [out, status.exitstatus], err
    assert_match message, err
  end

  def matrix(*arguments, env: {})
    Open3.capture3(env, @script, *arguments, chdir: @dir)
  end
end
