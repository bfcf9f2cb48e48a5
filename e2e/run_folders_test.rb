# frozen_string_literal: true

require "pty"
require_relative "support/duckdb"
require_relative "support/powerband"

# Run folders stay out of commits and images, old ones go, and a folder that cannot be written is named before anything starts.
class RunFoldersTest < PowerbandTest
  parallelize_me!

  include DuckDB

  # No Ruby is found, so that each run ends right after its folder was made.
  def test_git_ignores_them_and_the_line_for_an_image_is_named
    app = application("Dockerfile" => "", ".dockerignore" => "/log/*\n")
    in_app = ["tune", "--app", app, "--runs", File.join(app, "powerband-runs")]
    first = powerband(*in_app, env: { "PATH" => @dir })
    assert_match(%r{#{Regexp.escape(app)}/\.dockerignore keeps run folders out of the image; add: /powerband-runs$}, first.err)
    assert_match(/^\*$/, File.read(File.join(app, "powerband-runs/.gitignore")))
    refute_match(/dockerignore/, powerband(*in_app, env: { "PATH" => @dir }).err, "said once")
  end

  def test_old_runs_go_once_that_is_said_and_others_stay
    %w[done interrupted done].each_with_index { |state, nth| made_run("2026112#{nth}-214512-tune-1f3a", state) }
    assert_refused powerband("runs", "--runs", runs, "--prune"), 2, /--keep N/, /--older-than/
    listed = powerband("runs", "--runs", runs, "--prune", "--keep", 1)
    assert_equal %w[20261120-214512-tune-1f3a], listed.out.scan(/^\S+-tune-\h+/)
    assert_match(/20261121-214512-tune-1f3a stays: --resume/, listed.err)
    assert_match(/nothing was deleted; add --yes/, listed.err)
    assert_equal 3, run_folders.size
    deleted = powerband("runs", "--runs", runs, "--prune", "--keep", 1, "--yes")
    assert_equal 0, deleted.code, deleted.to_s
    assert_equal %w[20261121-214512-tune-1f3a 20261122-214512-tune-1f3a], run_folders.map { |path| File.basename(path) }.sort
    assert_match(/nothing to delete/, powerband("runs", "--runs", runs, "--prune", "--older-than", "99999d", "--yes").err)
  end

  def test_a_run_is_written_as_a_page_for_a_browser
    made_run("20261121-214512-tune-1f3a", "done")
    written = powerband("report", "--runs", runs, "--html")
    assert_equal 0, written.code, written.to_s
    page = written.out.chomp
    assert_equal File.join(run_folders.fetch(0), "page.html"), page
    assert_equal "600", format("%o", File.stat(page).mode & 0o777)
    assert_match(/\A<!doctype html>/, File.read(page))
    assert_equal "#{page}\n", powerband("report", "--html", run_folders.fetch(0)).out, "the run is no file of --html"
    elsewhere = File.join(@dir, "run.html")
    assert_equal "#{elsewhere}\n", powerband("report", "--runs", runs, "--html=#{elsewhere}").out
    assert_equal File.read(page), File.read(elsewhere)
    assert_refused powerband("report", "--runs", runs, "--html=#{@dir}/none/run.html"), 2,
                   %r{--html = ".*/none/run.html": No such file}
  end

  def test_the_changes_of_an_answer_are_applied_by_git
    sample = ->(name) { File.join(ROOT, "contract/samples", name) }
    app = File.join(@dir, "app")
    FileUtils.mkdir_p(File.join(app, "config"))
    %w[config/puma.rb .env].each { |name| File.write(File.join(app, name), "") }
    asked = powerband("report", file_of(with_two_changes), "--diff")
    assert_equal 0, asked.code, asked.to_s
    _, error, status = Open3.capture3("git", "apply", "--unidiff-zero", stdin_data: asked.out, chdir: app)
    assert status.success?, error
    assert_equal "threads 4, 4\n", File.read(File.join(app, "config/puma.rb"))
    assert_match(/^WEB_CONCURRENCY=0$/, File.read(File.join(app, ".env")))
    assert_refused powerband("report", sample["run/compare.json"], "--diff"), 1, /has no change for git apply/
    assert_refused powerband("report", sample["inspect/wide.json"], "--diff"), 2, /is no document of a run/
  end

  def test_the_changes_of_the_machine_are_named_and_a_run_without_an_answer_has_none
    document = with_two_changes
    document["verdict"]["changes"][0]["path"] = "/etc/nginx/shop"
    document["verdict"]["by_hand"] = ["ruby: start the server with Ruby 3.4"]
    file = file_of(document)
    asked = powerband("report", file, "--diff")
    assert_equal 0, asked.code, asked.to_s
    refute_includes asked.out, "threads 4"
    assert_match(%r{not in this diff: /etc/nginx/shop, whose diff}, asked.err)
    assert_match(/by hand: ruby: start the server with Ruby 3.4/, asked.err)
    document["verdict"]["changes"].each { |change| change["hidden"] = true }
    File.write(file, JSON.generate(document))
    assert_refused powerband("report", file, "--diff"), 1, /not in this diff: .env/, /has no change for git apply/
    File.write(file, JSON.generate(document.merge("verdict" => nil)))
    assert_refused powerband("report", file, "--diff"), 2, /has no answer yet/
  end

  # git would put its lines elsewhere without a word: no unchanged line stands around them.
  def test_a_file_that_has_changed_since_the_run_has_no_diff
    document = JSON.parse(File.read(File.join(ROOT, "contract/samples/run/tune.json")))
    app = File.join(@dir, "app")
    FileUtils.mkdir_p(File.join(app, "config"))
    document["plan"]["app_dir"] = app
    document["verdict"]["changes"].each { |change| change["crc32"] = 0 }
    file = File.join(@dir, "run.json")
    File.write(file, JSON.generate(document))
    assert_equal 0, powerband("report", file, "--diff").code
    File.write(File.join(app, "config/puma.rb"), "threads 1, 1\n")
    assert_refused powerband("report", file, "--diff"), 1, %r{--diff: config/puma.rb changed since the run}, /by hand/
  end

  def test_a_run_of_capacity_is_reported_by_its_name_and_as_the_newest
    folder = File.join(runs, "20261121-214512-capacity-1f3a")
    FileUtils.mkdir_p(folder)
    FileUtils.cp(File.join(ROOT, "contract/samples/capacity/mixed.json"), File.join(folder, "capacity.json"))
    page = powerband("report", File.join(folder, "capacity.json"))
    assert_match(/\AIt serves \d+ requests a second/, page.out)
    relative = powerband("report", "runs/20261121-214512-capacity-1f3a", chdir: @dir)
    assert_equal page.out, relative.out, relative.to_s
    [[folder], ["20261121-214512-capacity-1f3a"], []].each do |words|
      again = powerband("report", "--runs", runs, *words)
      assert_equal [0, page.out], [again.code, again.out], again.to_s
    end
  end

  def test_runs_are_written_as_parquet_files
    documents = %w[tune sweep compare].map { |name| JSON.parse(File.read(File.join(ROOT, "contract/samples/run/#{name}.json"))) }
    documents.each do |document|
      FileUtils.mkdir_p(File.join(runs, document["id"]))
      File.write(File.join(runs, document["id"], "run.json"), JSON.generate(document))
    end
    broken = "20261121-214512-tune-1f3a"
    FileUtils.mkdir_p(File.join(runs, broken))
    File.write(File.join(runs, broken, "run.json"), "{}")
    parquet = File.join(@dir, "parquet")
    2.times do
      written = powerband("runs", "--runs", runs, "--parquet", parquet, "--service", "shop")
      assert_equal 0, written.code, written.to_s
      assert_match(/^powerband: --parquet: the run #{broken} is left out: /, written.err)
    end
    lacks = DuckDB.lacks
    skip lacks if lacks
    trials = documents.map { |document| [document["id"], document["trials"].size] }.sort
    files = "#{parquet}/trials/*/*/*.parquet"
    assert_equal trials,
                 sql("SELECT run, count(*) FROM read_parquet('#{files}', hive_partitioning = true) GROUP BY run ORDER BY run")
  end

  def test_on_a_desktop_the_page_is_opened
    made_run("20261121-214512-tune-1f3a", "done")
    opened = File.join(@dir, "opened")
    browser = File.join(@dir, "xdg-open")
    File.write(browser, "#!/bin/sh\necho \"$1\" >> #{opened}\n", perm: 0o755)
    desktop = { "DISPLAY" => ":0", "PATH" => "#{@dir}:#{ENV.fetch('PATH')}" }
    report = ["report", "--runs", runs, "--html"]
    assert_equal 0, powerband(*report, env: desktop).code, "its output is no terminal"
    main, terminal = PTY.open
    [["--no-open"], []].each do |words|
      pid = Process.spawn(clean_environment.merge(desktop), BINARY, *report, *words, chdir: @dir, out: terminal)
      assert Process.wait2(pid).last.success?
    end
    await("the browser") { File.exist?(opened) && File.read(opened).end_with?("\n") }
    assert_equal ["#{run_folders.fetch(0)}/page.html\n"], File.readlines(opened), "opened once"
  ensure
    [main, terminal].each { |end_of_it| end_of_it&.close }
  end

  def test_a_resume_without_a_run_names_the_newest_that_can_go_on
    %w[tune compare].each do |verb|
      none = powerband(verb, "--resume", "--runs", runs)
      assert_refused none, 2, /--resume names no run; none in #{Regexp.escape(runs)} can go on/, /start a new run/
    end
    %w[interrupted interrupted done].each_with_index { |state, nth| made_run("2026112#{nth}-214512-tune-1f3a", state) }
    newest = %r{the newest that can go on: powerband tune --resume \S+/20261121-214512-tune-1f3a$}
    [["tune", "--runs", runs, "--resume"], ["sweep", "--resume", "--runs", runs]].each do |words|
      ended = powerband(*words)
      assert_refused ended, 2, /--resume names no run/, newest
      assert_equal 1, ended.messages.size, ended.to_s
    end
    made_run("20261122-214512-compare-1f3a", "interrupted", kind: "compare")
    assert_refused powerband("tune", "--runs", runs, "--resume"), 2, newest
  end

  # Each run takes the other's cores, which spoils both.
  def test_a_second_run_on_the_host_names_the_first
    slow = ["capacity", "--app", File.join(APPS, "hello"), "--slo", "p99=1s", "--runs", runs]
    first = start(BINARY, *slow)
    await("the first run's lock", of: first) { run_folders.any? { |path| File.size?(File.join(path, "lock")) } }
    of_first = run_folders.fetch(0)
    others = File.join(@dir, "others")
    second = powerband("compare", "threads=1", "threads=2", "--rehearse", "--app", File.join(APPS, "hello"), "--runs", others)
    named = /another run is under way on this host \(PID #{first.pid}, #{Regexp.escape(of_first)}\)/
    assert_match(/^spoils measurements: #{named}.*stop it \(kill #{first.pid}\), and measure again$/, second.err)
    # By the time the page is read, another process may have the number.
    warnings = document(Dir[File.join(others, "*")].fetch(0))["warnings"].join("\n")
    at_the_same_time = /other runs? of powerband \([^)]*#{Regexp.escape(of_first)}[^)]*\) (was|were) under way on this host/
    assert_match(at_the_same_time, warnings, second.to_s)
    refute_match(/kill/, warnings)
    refute_match(/PID #{first.pid}/, first.err)
  ensure
    first.signal(:INT)
    finish(first)
  end

  def test_a_run_names_another_one_that_begins_later
    first = start(*experiment("compare", "threads=1", "threads=2", "--blocks", "6"), "--rate", "20")
    await("the first trial", of: first) { first.err.include?("block 1") }
    second = start(BINARY, "capacity", "--app", File.join(APPS, "hello"), "--slo", "p99=1s", "--runs", File.join(@dir, "others"))
    await("its name", of: first) { first.err.match?(/another run is under way on this host \(PID #{second.pid}, /) }
  ensure
    [first, second].compact.each do |run|
      run.signal(:INT)
      finish(run)
    end
  end

  def test_a_run_that_a_process_works_on_names_that_process
    folder = made_run("20261120-214512-tune-1f3a", "interrupted")
    File.write(File.join(folder, "key"), "k" * 32)
    File.open(File.join(folder, "lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      lock.write("4711\n")
      lock.flush
      ended = powerband("tune", "--app", File.join(APPS, "hello"), "--resume", folder, "--runs", runs)
      assert_refused ended, 2, /a run in #{Regexp.escape(folder)} is running \(PID 4711\); wait for its/, /stop it \(kill 4711\)/
    end
  end

  def test_a_renamed_run_is_kept_and_one_that_cannot_be_read_goes_when_that_is_said
    made_run("20261120-214512-tune-1f3a", "done")
    File.rename(File.join(runs, "20261120-214512-tune-1f3a"), File.join(runs, "before-rails-8"))
    made_run("20261121-214512-tune-1f3a", "done")
    assert_equal "20261121-214512-tune-1f3a", JSON.parse(powerband("report", "--runs", runs, "--json").out)["id"]
    File.write(File.join(made_run("20261119-214512-tune-1f3a", "done"), "run.json"), "{}")
    listed = powerband("runs", "--runs", runs)
    assert_equal [%w[20261119-214512-tune-1f3a unreadable], %w[before-rails-8 kept], %w[20261121-214512-tune-1f3a done]],
                 listed.out.lines.first(3).map { |line| line.split.first(2) }
    stays = powerband("runs", "--runs", runs, "--prune", "--older-than", "1s", "--keep", 1)
    assert_match(/20261119-214512-tune-1f3a stays: its document cannot be read; --unfinished/, stays.err)
    powerband("runs", "--runs", runs, "--prune", "--keep", 1, "--unfinished", "--yes")
    assert_equal %w[20261121-214512-tune-1f3a before-rails-8], run_folders.map { |path| File.basename(path) }.sort
  end

  def test_a_folder_that_cannot_be_made_names_the_flag
    file = File.join(@dir, "file")
    File.write(file, "")
    %w[tune capacity].each do |verb|
      ended = powerband(verb, "--app", File.join(APPS, "hello"), "--slo", "p99=1s", "--runs", File.join(file, "runs"))
      assert_refused ended, 2, /cannot create .*file/, /--runs DIR/
    end
    ended = powerband("run", "--", "ruby", "-e", "1", env: { "POWERBAND_GEM" => gem_without_extension, "XDG_CACHE_HOME" => file })
    assert_refused ended, 2, /agent cannot be put into #{Regexp.escape(file)}/, /XDG_CACHE_HOME/
  end

  def test_a_disk_without_room_is_refused_before_anything_starts
    small = File.join(@dir, "small")
    Dir.mkdir(small)
    mounted = "mount -t tmpfs -o size=4m tmpfs #{small} && exec \"$@\""
    asked = [BINARY, "compare", "threads=1", "threads=2", "--app", File.join(APPS, "hello"), "--runs", File.join(small, "runs")]
    probe = finish(start("unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh", "true"))
    skip "no mounts here: #{probe.err}" unless probe.code.zero?
    ended = finish(start("unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh", *asked))
    assert_refused ended, 2, /\d MiB are free on its disk, and the run needs about \d+ MiB/, /--runs DIR/, /runs --prune/
    refute_match(/block 1/, ended.err)
  end

  private

  # The answer of the sample, with a file of variables that its application loads.
  def with_two_changes
    JSON.parse(File.read(File.join(ROOT, "contract/samples/run/tune.json"))).tap do |document|
      environment = "--- a/.env\n+++ b/.env\n@@ -0,0 +1,2 @@\n+RAILS_MAX_THREADS=4\n+WEB_CONCURRENCY=0\n"
      document["verdict"]["changes"] << { "path" => ".env", "diff" => environment, "crc32" => 0 }
    end
  end

  def file_of(document)
    File.join(@dir, "run.json").tap { |file| File.write(file, JSON.generate(document)) }
  end

  def application(files)
    File.join(@dir, "app").tap do |app|
      FileUtils.mkdir_p(app)
      files.merge("config.ru" => "run ->(_env) { [200, {}, []] }\n").each { |name, text| File.write(File.join(app, name), text) }
    end
  end

  def made_run(id, state, kind: "tune")
    sample = JSON.parse(File.read(File.join(ROOT, "contract/samples/run/tune.json")))
    folder = File.join(runs, id)
    FileUtils.mkdir_p(folder)
    started_at = id.sub(/\A(....)(..)(..)-(..)(..)(..).*/, '\1-\2-\3T\4:\5:\6Z')
    document = sample.merge("id" => id, "kind" => kind, "state" => state, "started_at" => started_at)
    File.write(File.join(folder, "run.json"), JSON.generate(document))
    folder
  end

  def gem_without_extension
    File.join(@dir, "gem").tap do |gem|
      FileUtils.mkdir_p(gem)
      FileUtils.cp_r(%w[lib ext].map { |part| File.join(ROOT, "gem", part) }, gem)
      FileUtils.rm_rf(File.join(gem, "lib/powerband/ext"))
    end
  end
end
