# frozen_string_literal: true

require "fileutils"
require "json"
require "minitest"
require "securerandom"
require "tmpdir"
require_relative "awaiting"
require_relative "left_running"

# The real binary, started as a user starts it, each test with folders of its own. Nothing of the caller's POWERBAND_*
# settings reaches it, and every process of a test carries the test's mark.
class PowerbandTest < Minitest::Test
  include Awaiting
  include LeftRunning

  ROOT = File.expand_path("../..", __dir__)
  BINARY = ENV.fetch("POWERBAND_BINARY", File.join(ROOT, "target/release/powerband"))
  APPS = File.join(ROOT, "e2e/apps")

  # What a finished command left: its streams and how it ended.
  Ended = Struct.new(:out, :err, :status) do
    def code
      status.exitstatus
    end

    def messages
      err.lines.grep(/\Apowerband: /)
    end

    def to_s
      "#{status}\n--- stdout\n#{out}\n--- stderr\n#{err}"
    end
  end

  # A command that is still running, or was.
  Started = Struct.new(:pid, :out_path, :err_path) do
    def out
      File.read(out_path)
    end

    def err
      File.read(err_path)
    end

    # How it ended; nil while it runs.
    def status
      @status ||= Process.wait2(pid, Process::WNOHANG)&.last
    end

    def signal(name)
      Process.kill(name, pid)
    end

    def to_s
      "#{status || 'still running'}\n--- stdout\n#{out}\n--- stderr\n#{err}"
    end
  end

  def setup
    super
    @mark = "powerband-e2e-#{SecureRandom.hex(8)}"
    @dir = Dir.mktmpdir("powerband-e2e-")
    @commands = 0
    @running = []
  end

  # A failed test keeps its folder, and says where it is.
  def teardown
    @running.reject(&:status).each do |started|
      started.signal(:KILL)
      Process.wait(started.pid)
    end
    assert_nothing_left_running
    if passed? || skipped?
      FileUtils.remove_entry(@dir)
    else
      warn "kept for a look: #{@dir}"
    end
    super
  end

  def start(*words, env: {}, chdir: @dir, **passed)
    @commands += 1
    out, err = %w[out err].map { |name| File.join(@dir, "#{@commands}.#{name}") }
    pid = Process.spawn(clean_environment.merge(LeftRunning::VARIABLE => @mark).merge(env), *words.map(&:to_s),
                        chdir: chdir, in: File::NULL, out: out, err: err, **passed)
    Started.new(pid, out, err).tap { |started| @running << started }
  end

  def powerband(*words, within: 90, **options)
    finish(start(BINARY, *words, **options), within: within)
  end

  # Tests that repeated a command because the host was too busy; more of them than usual mean a host that is busy with other work.
  RETRIED = Queue.new
  Minitest.after_run do
    names = Array.new(RETRIED.size) { RETRIED.pop }
    puts "repeated on a busy host: #{names.size} commands", names.tally.map { |name, times| "  #{name}: #{times}" }
  end

  # On a busy host the generator is late and there is no honest answer: the command is repeated.
  def measured(*words, **options)
    3.times do
      ended = powerband(*words, **options)
      return ended unless ended.messages.join.match?(/the generator( started requests late|'s own delay is in)/)

      RETRIED << name
    end
    flunk "this host is too busy to measure on"
  end

  # The same of a verb that says by its exit code that there is no answer.
  def answered(*words, **options)
    2.times do
      ended = powerband(*words, **options)
      return ended unless ended.code == 3

      RETRIED << name
    end
    powerband(*words, **options)
  end

  # Waits for the end; a command that does not come to one fails the test and is killed in teardown.
  def finish(started, within: 90)
    status = await("the end of the command", within: within, of: started) { started.status }
    @running.delete(started)
    Ended.new(started.out, started.err, status)
  end

  # One of the purpose-made applications, in small windows.
  def experiment(verb, *words, app: "io", window: "500ms")
    [BINARY, verb, *words, "--app", File.join(APPS, app), "--window", window, "--runs", runs]
  end

  # powerband.toml of one of the purpose-made applications, with a server of this kind.
  def write_server(kind, rest, app: "io", env: "")
    File.write(File.join(@dir, "powerband.toml"), <<~TOML)
      [app]
      dir = "#{File.join(APPS, app)}"
      [app.env]
      HELD_MS = 1
      WAIT_MS = 40
      #{env}
      [server]
      kind = "#{kind}"
      #{rest}
    TOML
  end

  # Debian has no package of some servers.
  def skip_without(gem)
    skip "the gem #{gem} is not installed" if Gem::Specification.find_all_by_name(gem).empty?
  end

  # A separate file, so that a process with it counts as a different Ruby.
  def another_ruby
    File.join(@dir, "another/bin/ruby").tap do |path|
      next if File.exist?(path)

      FileUtils.mkdir_p(File.dirname(path))
      FileUtils.cp(RbConfig.ruby, path)
    end
  end

  # Light and slow enough that neither the generator nor a busy host spoils a trial: a millisecond of Ruby in forty.
  LIGHT = { "HELD_MS" => "1", "WAIT_MS" => "40" }.freeze

  def runs
    File.join(@dir, "runs")
  end

  def run_folders
    Dir[File.join(runs, "*")]
  end

  def document(folder = run_folders.fetch(0))
    JSON.parse(File.read(File.join(folder, "run.json")))
  end

  # Each of these is what a person should never have to read, or must read.
  def assert_refused(ended, code, *said)
    assert_equal code, ended.code, ended.to_s
    said.each { |words| assert_match words, ended.messages.join, ended.to_s }
    refute_match(/panicked|RUST_BACKTRACE|stack backtrace/, ended.err)
    assert_empty ended.out
    assert_nothing_left_running
  end

  def assert_no_run_folder
    assert_empty run_folders
  end

  # Half-written files have their name from `.writing-`.
  def assert_nothing_half_written
    assert_empty Dir.glob(File.join(runs, "**/.writing-*"), File::FNM_DOTMATCH)
  end

  # The contract, checked by the validator that the Rust tests use.
  def assert_valid_run_document(text)
    assert_valid_document(text, "run-v1")
  end

  def assert_valid_document(text, contract)
    path = File.join(@dir, "document.json")
    File.write(path, text)
    schema = File.join(ROOT, "contract/#{contract}.schema.json")
    ended = finish(start(testkit("validate-json"), schema, path))
    assert_equal 0, ended.code, ended.to_s
  end

  private

  # A validator's program: as `cargo test` has left it, or else built.
  def testkit(name)
    program = File.join(ENV.fetch("CARGO_TARGET_DIR", File.join(ROOT, "target")), "debug", name)
    unless File.executable?(program)
      ended = finish(start("cargo", "build", "--quiet", "--locked", "--package", "powerband-testkit", chdir: ROOT), within: 600)
      assert_equal 0, ended.code, ended.to_s
    end
    program
  end

  def clean_environment
    ENV.keys.grep(/\A(COLUMNS|POWERBAND_|RAILS_|RACK_|WEB_CONCURRENCY|PUMA_|DATABASE_URL|BUNDLE|RUBYOPT|RUBYLIB)/)
       .to_h { |key| [key, nil] }
  end
end
