# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/servers"

# `powerband doctor` on a made-up application, on servers that run, and on this host, of whose momentary state nothing is
# asserted.
class DoctorTest < PowerbandTest
  parallelize_me!

  include Servers

  HOST = %w[clock-source conntrack cpu-pressure cpu-quota cpu-throttling governor huge-pages listen-backlog load
            memory-limit memory-pressure open-files other-runs ports steal swap syn-backlog system-files].freeze
  APPLICATION = %w[connections environment gc-settings injected-code log-level malloc-arenas pool profiling workers
                   yjit].freeze
  FILES = {
    "powerband.toml" => <<~TOML,
      [app]
      environment = "development"
      [app.env]
      RAILS_LOG_LEVEL = "debug"
      RUBY_GC_NO_SUCH_SETTING = 3
      DATABASE_URL = "postgres://shop:hunter2@localhost/shop"
      [baseline]
      threads = 7
      workers = 2
    TOML
    "config/puma.rb" => "threads 7, 7\n",
    "config/initializers/profiling.rb" => "GC::Profiler.enable\n",
    "config/database.yml" => "development:\n  adapter: postgresql\n  pool: 3\n"
  }.freeze

  # What the golden sample says of a check, but for the figures of a host.
  SAMPLE = JSON.parse(File.read(File.expand_path("../contract/samples/doctor/application.json", __dir__)))
  WORDS = %w[severity what why remedy].freeze

  def test_an_application_with_everything_wrong
    write(FILES)
    ended = powerband("doctor", "--json")
    assert_equal 1, ended.code, ended.to_s
    assert_empty ended.err
    document = checked(ended, HOST + APPLICATION)
    found = document["findings"].to_h { |finding| [finding["check"], finding] }
    {
      "environment" => ["spoils_measurements", "development (app.environment in powerband.toml)"],
      "log-level" => ["spoils_measurements", "RAILS_LOG_LEVEL=debug"],
      "profiling" => ["spoils_measurements", "config/initializers/profiling.rb:1: GC::Profiler.enable"],
      "pool" => ["harms_server", "7 threads (baseline in powerband.toml), a pool of 3 (a number in config/database.yml)"],
      "gc-settings" => ["harms_server", "this Ruby does not know RUBY_GC_NO_SUCH_SETTING"]
    }.each do |check, (severity, evidence)|
      assert_equal [severity, evidence], found.fetch(check).values_at("severity", "evidence")
    end
    SAMPLE["findings"].each do |said|
      finding = found[said["check"]] or next
      assert_equal said.values_at(*WORDS), finding.values_at(*WORDS)
    end
    assert_match(/up to 6 connections, 2 × 3/, document["not_known"].find { |one| one["check"] == "connections" }["why"])
    refute_match(/hunter2/, ended.out)
  end

  def test_the_page_says_the_same_before_what_is_fine
    write(FILES)
    ended = powerband("doctor", "--config", File.join(@dir, "powerband.toml"), chdir: "/")
    assert_equal 1, ended.code, ended.to_s
    assert_match(/^- environment: the application runs in development$/, ended.out)
    assert_match(/^ {4}evidence  7 threads/, ended.out)
    assert_operator ended.out.index("Spoils measurements\n"), :<, ended.out.index("Harms the server\n")
    refute_match(/hunter2/, ended.out)
  end

  def test_this_host_alone
    ended = powerband("doctor", "--json")
    assert_includes [0, 1], ended.code, ended.to_s
    assert_empty ended.err
    document = checked(ended, HOST + %w[application])
    assert_includes document["not_known"].map { |one| one["check"] }, "application"
    bad = document["findings"].any? { |finding| finding["severity"] != "note" }
    assert_equal [bad ? 1 : 0] * 2, [ended.code, document["exit_code"]]
  end

  def test_a_ruby_that_runs
    server = start("ruby", "-e", "sleep", env: { "RAILS_ENV" => "development", "SECRET_TOKEN" => "hunter2" })
    ended = powerband("doctor", "--pid", server.pid, "--json", chdir: "/")
    assert_equal 1, ended.code, ended.to_s
    document = checked(ended, HOST + APPLICATION + %w[server])
    server_note = document["findings"].find { |finding| finding["check"] == "server" }
    assert_equal ["note", "process #{server.pid} is no Puma, Unicorn, Pitchfork, Falcon or Passenger",
                  "it is a Ruby that was started with: ruby -e sleep"], server_note.values_at("severity", "what", "evidence")
    environment = document["findings"].find { |finding| finding["check"] == "environment" }
    assert_equal "harms_server", environment["severity"]
    assert_equal "development (RAILS_ENV of process #{server.pid})", environment["evidence"]
    assert_equal File.realpath(@dir), document["looked_at"]["application"]
    refute_match(/hunter2/, ended.out)
  ensure
    server&.signal(:TERM)
    finish(server) if server
  end

  def test_a_process_that_is_no_ruby
    sleeper = start("sleep", "100")
    ended = powerband("doctor", "--pid", sleeper.pid)
    assert_equal [2, "", 1], [ended.code, ended.out, ended.messages.size], ended.to_s
    assert_match(/--pid = #{sleeper.pid}: it runs sleep, which is no Ruby server; name the process of a server: Puma/, ended.err)
    shell = start("sh", "-c", "ruby -e sleep & wait")
    ruby = await("the shell's Ruby", of: shell) { marked_like(/\A\d+ ruby -e/).first }
    ended = powerband("doctor", "--pid", shell.pid)
    assert_equal 2, ended.code, ended.to_s
    assert_match(/runs \w+, which is no Ruby server; the Ruby that it started is process #{ruby}: give --pid #{ruby}$/, ended.err)
  ensure
    Process.kill(:TERM, ruby) if ruby
    [sleeper, shell].compact.each { |started| started.signal(:TERM) && finish(started) }
  end

  def test_a_puma_that_runs
    site = puma(File.join(APPS, "hello"), "-w", "2", threads: 3, env: { "RACK_ENV" => "production" })
    await("both workers", of: site.started) { marked_like(/puma: cluster worker/).size == 2 }
    assert_equal "200", site.get("/").code
    document = checked(powerband("doctor", "--pid", site.started.pid, "--json"), HOST + APPLICATION)
    evidence = (document["findings"] + document["fine"]).to_h { |one| one.values_at("check", "evidence") }
    assert_match(/\A2 processes \(Puma's processes as they are now\)/, evidence["workers"])
    assert_match(/\b3 threads \(Puma's threads as they are now\)/, evidence["malloc-arenas"])
    assert_equal "production (RACK_ENV of process #{site.started.pid})", evidence["environment"]
  ensure
    stop(site) if site
  end

  # Puma puts a title over its command line, and what `powerband run` injects is not foreign.
  def test_a_puma_whose_command_line_is_hidden
    write("config.ru" => "run ->(_env) { [200, {}, []] }\n", "config/application.rb" => "",
          "config/environments/development.rb" => "# config.logger = nil\n",
          "config/environments/production.rb" => "config.logger = ActiveSupport::Logger.new(STDOUT)\n")
    site = puma(@dir, "-e", "production", before: [BINARY, "run", "--flight-dir", File.join(@dir, "flight"), "--"])
    evidence = lambda do
      document = checked(powerband("doctor", "--pid", site.started.pid, "--json"), HOST + APPLICATION)
      document["fine"].to_h { |one| one.values_at("check", "evidence") }
    end
    found = evidence.call
    assert_match(/\Aproduction \(process #{site.started.pid} writes no log/, found["environment"])
    assert_equal "neither RUBYOPT nor LD_PRELOAD adds any besides Powerband's agent", found["injected-code"]
    write("config/environments/staging.rb" => "config.logger = nil\n", "config/puma.rb" => "environment 'staging'\n")
    assert_equal "staging (config/puma.rb:1)", evidence.call["environment"]
  ensure
    stop(site, :KILL) if site
  end

  def test_wrong_usage
    gone = Process.spawn("true").tap { |pid| Process.wait(pid) }
    assert_refused powerband("doctor", "--pid", gone), 2, /--pid = #{gone}: process #{gone} does not run; name a running process/
    assert_refused powerband("doctor", "--config", "none.toml"), 2, /none\.toml.*name a file that can be read/
    write("powerband.toml" => "[baseline]\nthreads = 0\n[sever]\n")
    assert_refused powerband("doctor"), 2, /threads in baseline/, /unknown key sever/
    assert_equal 2, powerband("doctor", "--pid", "me").code
  end

  private

  def write(files)
    files.each do |name, text|
      path = File.join(@dir, name)
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, text)
    end
  end

  # The document, which keeps its schema and tells of each of these checks once.
  def checked(ended, checks)
    assert_valid_document(ended.out, "doctor-v1")
    document = JSON.parse(ended.out)
    reported = document.values_at("findings", "fine", "not_known").flatten.map { |one| one["check"] }
    assert_equal checks.sort, reported.sort
    document
  end
end
