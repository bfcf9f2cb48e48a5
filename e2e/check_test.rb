# frozen_string_literal: true

require_relative "support/powerband"
require "rexml/document"
require "shellwords"
require "yaml"

# `powerband check`: two revisions of a small application, below the top of a git repository made for the test.
class CheckTest < PowerbandTest
  parallelize_me!

  APP = <<~'RUBY'
    run lambda { |env|
      sleep(env["PATH_INFO"] == "/quick" ? 0.001 : %s)
      [200, { "content-type" => "text/plain" }, ["ok"]]
    }
  RUBY

  # Five threads that sleep give 50 answers a second at most, however busy the host is, and the others many more.
  def test_a_slower_revision_fails_and_leaves_nothing
    repository(sleep: 0.002)
    commit(sleep: 0.2)
    words = check("--assert", "throughput >= -3%", "--assert", "memory <= +200%", "--workload", two_pages,
                  "--rate", "10", "--junit", "check.xml", "--markdown", "check.md")
    ended = measured(*words, chdir: app, within: 300)
    assert_equal 1, ended.code, ended.to_s
    assert_match(/\AHEAD against main~1: throughput >= -3% fails; memory <= \+200% holds\.$/, ended.out)
    assert_match(/^NOT HELD   throughput >= -3% fails: throughput -\d\d\.\d % \(-\d/, ended.out)
    assert_match(%r{^Pages that differ \(p50\): GET / \+\d+ % \(.*\), from \d\S* ms to 2\d\d ms}, ended.out)
    assert_equal ["GET /", "GET /quick"], document.fetch("pages").map { |page| page.fetch("page") }
    assert_reported ["failure", nil]
    assert_match(/^- \*\*throughput >= -3% fails: .*\*\*$/, File.read(in_app("check.md")))
    assert_documented %w[fails holds]
    assert_nothing_left
  end

  # Killed, it leaves its worktrees to whoever goes on with it. Memory is what a busy host does not change.
  def test_the_same_application_holds_after_an_interruption_and_a_kill
    repository(sleep: 0.02)
    commit(comment: "no change")
    words = check("--assert", "memory <= +200%", "--json")
    broken_off(words, "INT", after: "pilot-b01") do |ended|
      assert_equal 130, ended.code, ended.to_s
      assert_match(/go on with: powerband check --resume \S+$/, ended.err)
      assert_nothing_left
    end
    resume = ["check", "--resume", run_folders.fetch(0), "--json"]
    broken_off(resume, "KILL", after: "compare-b01") { assert_equal 2, worktrees.size }
    ended = powerband(*resume, chdir: app, within: 300)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_run_document ended.out
    assert_documented %w[holds]
    assert_nothing_left
    commit(comment: "later")
    assert_refused powerband(*resume, chdir: app), 2, /cannot go on: the commit of a revision has changed since/
  end

  def test_each_revision_is_prepared_and_runs_with_its_own_configuration
    repository(sleep: 0.001, threads: 2)
    File.write(in_app("powerband.toml"), <<~TOML)
      [app]
      prepare = "test -d $POWERBAND_ORIGIN/config && echo $PWD $BUNDLE_GEMFILE $(git rev-parse HEAD) >> #{@dir}/prepared"
      [app.env]
      BUNDLE_GEMFILE = "#{in_app('Gemfile')}"
      [check]
      against = "main~1"
      assert = ["throughput >= -3%"]
      [workload]
      path = "/"
    TOML
    commit(threads: 3)
    # As a hook of git runs it.
    ended = powerband("check", "--rehearse", "--runs", runs, env: { "GIT_DIR" => "/nowhere" }, chdir: app, within: 120)
    assert_equal 0, ended.code, ended.to_s
    arms = document.fetch("arms")
    assert_equal [["main~1", 2], ["HEAD", 3]], arms.map { |arm| [arm.fetch("label"), arm.dig("settings", "threads")] }
    prepared = File.readlines(File.join(@dir, "prepared"), chomp: true)
    assert_equal 2, prepared.uniq.size
    worktree = %r{/runs/[^/]+/revisions/\d/shop}
    assert(prepared.all? { |line| line.match?(%r{\A\S*#{worktree} \S*#{worktree}/Gemfile \h{40}\z}) }, prepared.to_s)
    assert_equal 2, prepared.map { |line| line[-40..] }.uniq.size, "git works on the revision"
    assert_nothing_left
  end

  def test_a_preparation_that_fails_is_told_in_the_report_and_leaves_nothing
    repository(sleep: 0.001)
    File.write(in_app("powerband.toml"), "[app]\nprepare = \"exit 7\"\n")
    ended = powerband(*check("--junit", "check.xml"), chdir: app)
    assert_refused ended, 2, /prepare command failed/
    assert_reported %w[error]
    assert_nothing_left
    assert_no_run_folder
  end

  def test_all_that_is_wrong_is_told_at_once
    repository(sleep: 0.001)
    ended = powerband(*check("--against", "nowhere", "--revision", "no", "--assert", "p99 <= 5%", "--blocks", "2"), chdir: app)
    assert_refused ended, 2, /--against = "nowhere": this clone has no such revision/, /--revision = "no"/,
                   /--assert = "p99 <= 5%": .*p95/, /--blocks = "2"/
    File.write(in_app("config.ru"), "changed")
    assert_refused powerband(*check, chdir: app), 2, %r{changes that are not committed \(shop/config\.ru\).*--revision HEAD}
    FileUtils.rm_rf(File.join(@dir, "repository/.git"))
    assert_refused powerband(*check, chdir: app), 2, /is in no git repository/
    assert_no_run_folder
  end

  # Its flags are the ones that there are; the expressions of the workflow stand for words.
  def test_the_workflow_of_the_docs_asks_what_can_be_asked
    workflow = File.read(File.join(ROOT, "docs/check.md"))[/^```yaml\n(.*?)^```$/m, 1]
    steps = YAML.safe_load(workflow).dig("jobs", "check", "steps")
    asked = steps.filter_map { |step| step["run"] }.grep(/\Apowerband check/)
    assert_equal 1, asked.size
    words = Shellwords.split(asked.fetch(0).gsub(/\$\{\{.*?\}\}/, "main"))
    ended = powerband(*words.drop(1), "--help")
    assert_equal 0, ended.code, ended.to_s
    assert_match(/--against <REF>/, ended.out)
  end

  private

  def app = File.join(@dir, "repository/shop")

  def in_app(name) = File.join(app, name)

  def check(*flags)
    against = flags.include?("--against") ? [] : ["--against", "main~1"]
    pages = flags.include?("--workload") ? [] : ["--path", "/"]
    ["check", *against, *pages, "--window", "500ms", "--runs", runs, *flags]
  end

  def two_pages
    path = File.join(@dir, "pages.toml")
    File.write(path, "[[request]]\npath = \"/\"\n[[request]]\npath = \"/quick\"\n")
    path
  end

  def git(*words)
    system("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-C", app, *words, exception: true, out: File::NULL)
  end

  # Two revisions that are the same; `commit` adds another.
  def repository(**content)
    FileUtils.mkdir_p(in_app("config"))
    git("init", "--quiet", "--initial-branch=main", "..")
    @content = { threads: 5, comment: "none" }
    2.times { commit(**content) }
  end

  def commit(**changes)
    @content.merge!(changes)
    File.write(in_app("config.ru"), "# #{@content[:comment]}\n#{format(APP, @content[:sleep])}")
    File.write(in_app("config/puma.rb"), format("threads %<threads>d, %<threads>d\n", @content))
    git("add", ".")
    git("commit", "--quiet", "--allow-empty", "--message", "Change something")
  end

  # Waits until the first trial of the block is on disk and the next server is up, and then sends the signal.
  def broken_off(words, signal, after:)
    started = start(BINARY, *words, chdir: app)
    await("a trial of #{after}", within: 120, of: started) do
      Dir[File.join(runs, "*/trials/#{after}-*.json")].any? && marked_like(/puma/).any?
    end
    started.signal(signal)
    yield finish(started)
  end

  def worktrees
    IO.popen(["git", "-C", app, "worktree", "list"], &:readlines).drop(1)
  end

  def assert_nothing_left
    assert_empty worktrees
    assert_empty Dir.glob(File.join(runs, "*", "revisions"))
    assert_nothing_left_running
  end

  # The kinds of what test cases hold.
  def assert_reported(faults)
    report = REXML::Document.new(File.read(in_app("check.xml")))
    cases = REXML::XPath.match(report, "/testsuites/testsuite[@name='powerband check']/testcase")
    assert_equal(faults, cases.map { |testcase| testcase.elements[1]&.name })
  end

  def assert_documented(outcomes)
    whole = document
    assert_equal %w[check done], whole.values_at("kind", "state")
    assert_equal(outcomes, whole.fetch("assertions").map { |assertion| assertion.fetch("outcome") })
  end
end
