# frozen_string_literal: true

require "socket"
require_relative "support/powerband"

# Wrong usage and applications that cannot be measured: one clear message with what is wrong and what to do, the right
# exit code, no stack trace of ours, no process, no half-written file.
class WrongUsageTest < PowerbandTest
  parallelize_me!

  def test_an_unknown_knob
    ended = powerband(*experiment("sweep", "turbo=1,2").drop(1))
    assert_refused ended, 2, /unknown knob "turbo"/, /the knobs are threads, workers, preload/
    assert_one_message ended
  end

  def test_no_threads
    ended = powerband(*experiment("sweep", "threads=0,1").drop(1))
    assert_refused ended, 2, /threads in sweep = "0"/, /from 1 to 256/
    assert_one_message ended
  end

  def test_threads_that_are_no_number
    ended = powerband(*experiment("sweep", "threads=abc,2").drop(1))
    assert_refused ended, 2, /threads in sweep = "abc"/, /whole number/
    assert_one_message ended
  end

  def test_an_objective_without_a_unit
    ended = powerband(*experiment("tune", "--slo", "p99=250").drop(1))
    assert_refused ended, 2, /--slo = "p99=250"/, /such as p99=250ms/
    assert_one_message ended
  end

  def test_the_cost_of_an_unknown_number_of_servers
    ended = powerband(*experiment("tune", "--server-cost", "140 EUR").drop(1))
    assert_refused ended, 2, /--server-cost = "140 EUR": no cost/, /such as 140/, /--total-rate/
    ended = powerband(*experiment("tune", "--total-rate", "many").drop(1))
    assert_refused ended, 2, /--total-rate = "many": no arrival rate/
    assert_one_message ended
  end

  def test_the_least_of_what_and_for_what
    ended = powerband(*experiment("tune", "--least", "memory", "--rate", "40").drop(1))
    assert_refused ended, 2, /--least = "memory"/, /--rate 80.s --slo p99=250ms/
    assert_one_message ended
    ended = powerband(*experiment("tune", "--least", "money").drop(1))
    assert_refused ended, 2, /--least = "money"/, /latency, memory or processes/
    assert_one_message ended
  end

  def test_an_unknown_flag
    ended = powerband("tune", "--turbo")
    assert_equal 2, ended.code
    assert_match(/--turbo/, ended.err)
  end

  def test_a_port_in_use
    TCPServer.open("127.0.0.1", 0) do |taken|
      ended = powerband(*experiment("sweep", "threads=1,2", "--port", taken.addr[1]).drop(1))
      assert_refused ended, 2, /port #{taken.addr[1]} is in use/, /give another port/
      assert_one_message ended
      assert_no_run_folder
    end
  end

  def test_an_application_that_does_not_boot
    ended = powerband(*experiment("sweep", "threads=1,2", app: "broken_boot").drop(1))
    assert_refused ended, 3, /cannot be measured: the server died \(exit status 1\): RuntimeError: broken_boot: this application/,
                   /refuses to start/, /server\.log/
    assert_told_once ended, "Unable to load application"
    assert_failed_run_is_whole
  end

  def test_an_application_that_lacks_a_variable
    file("config.ru", "ENV.fetch('STRIPE_KEY')\n")
    ended = powerband("compare", "threads=1", "threads=2", "--rehearse", "--app", @dir, "--runs", runs)
    assert_refused ended, 3, /STRIPE_KEY = "VALUE" under \[app\.env\] in powerband\.toml/, /config\.ru:1/
    assert_match(/cannot be measured: the server died \(exit status 1\): KeyError: key not found: "STRIPE_KEY"\n\z/,
                 ended.messages.first)
    assert_failed_run_is_whole
  end

  def test_an_application_that_answers_with_errors_only
    ended = powerband(*experiment("sweep", "threads=1,2", app: "answers_500").drop(1))
    assert_refused ended, 3, %r{answers / with status 500}, /server\.log/
    assert_failed_run_is_whole
  end

  def test_pages_that_are_broken_are_named_with_what_the_log_says
    file("config.ru", <<~RUBY)
      run lambda { |env|
        raise KeyError, "no key for the weather" if env["PATH_INFO"] == "/weather"
        [env["PATH_INFO"] == "/" ? 200 : 404, {}, ["here"]]
      }
    RUBY
    paths = %w[/ /weather /missing].map { |path| "[[request]]\npath = '#{path}'\n" }
    ended = powerband("tune", "--app", @dir, "--workload", file("workload.toml", paths.join), "--window", "500ms",
                      "--baseline", "threads=1", "--runs", runs)
    assert_refused ended, 3, %r{GET /weather: (\d+) of \1 requests failed; the first: answered 500: KeyError: no key},
                   %r{GET /missing: (\d+) of \1 requests failed; the first: answered 404$}
    refute_match(%r{GET /: }, ended.err)
    assert_failed_run_is_whole
  end

  # It ends no trial, but the run says so as soon as it is known, and its page again.
  def test_a_page_that_fails_in_some_requests_is_named_while_the_run_goes_on
    file("config.ru", <<~RUBY)
      asked = 0
      run lambda { |env|
        raise KeyError, "no key for the weather" if env["PATH_INFO"] == "/weather" && (asked += 1) % 3 == 0
        [200, {}, ["here"]]
      }
    RUBY
    workload = file("workload.toml", %w[/ /weather].map { |path| "[[request]]\npath = '#{path}'\n" }.join)
    ended = powerband("compare", "threads=1", "threads=2", "--rehearse", "--app", @dir, "--workload", workload, "--runs", runs)
    named = %r{in 3\d\.\d % of its requests: GET /weather: \d+ of \d+ requests failed; the first: answered 500: KeyError: no key}
    assert_equal 1, ended.err.scan(/a page fails in/).size, ended.to_s
    assert_match(named, ended.err)
    assert_match(named, document["warnings"].join)
    assert_match(/a page fails in/, ended.out)
  end

  # The log has the path as it was sent, not as the workload writes it.
  def test_a_broken_page_behind_a_captured_value_is_named_with_its_path
    file("config.ru", <<~RUBY)
      run lambda { |env|
        raise KeyError, "no such account" if env["PATH_INFO"] == "/accounts/7"
        env["PATH_INFO"] == "/login" ? [302, { "location" => "/accounts/7?key=secret" }, []] : [200, {}, ["here"]]
      }
    RUBY
    workload = file("workload.toml", <<~TOML)
      [[session]]
      [[session.request]]
      path = "/login"
      status = 302
      capture = { home = { header = "Location" } }
      [[session.request]]
      path = "{{home}}"
    TOML
    ended = powerband("tune", "--app", @dir, "--workload", workload, "--window", "500ms", "--baseline", "threads=1",
                      "--runs", runs)
    failed = /\(GET \{\{home\}\}\): (\d+) of \1 requests failed; the first: answered 500: KeyError: no such account/
    assert_refused ended, 3, %r{GET /accounts/7\?… #{failed}}
    refute_match(/secret/, ended.messages.join.sub(/server\.log.*/m, ""))
  end

  def test_an_application_that_ignores_its_settings
    ended = powerband(*experiment("sweep", "threads=1,2", "--server", "bin/start", app: "ignores_threads").drop(1))
    assert_refused ended, 3, /threads = 1 was asked for, and the server runs with 5/, %r{look at config/puma\.rb}
    assert_one_message ended
    assert_failed_run_is_whole
  end

  def test_a_workload_with_no_request
    ended = powerband(*experiment("sweep", "threads=1,2", "--workload", file("none.toml", "")).drop(1))
    assert_refused ended, 2, /none\.toml: .*request/
    assert_one_message ended
    assert_no_run_folder
  end

  def test_a_post_wants_permission
    workload = file("post.toml", "[[request]]\nmethod = 'POST'\npath = '/'\nbody = 'a=1'\n")
    ended = powerband(*experiment("sweep", "threads=1,2", "--workload", workload).drop(1))
    assert_refused ended, 2, /POST requests, which may change data/, /--allow-unsafe/
    assert_one_message ended
    assert_no_run_folder
  end

  def test_a_database_elsewhere_wants_permission_and_its_credentials_are_kept_secret
    ["postgres://shop:hunter2@db.example.com/shop", "postgres://caf\xE9:hunter2@db.example.com/shop".b].each do |url|
      ended = powerband(*experiment("sweep", "threads=1,2").drop(1), env: { "DATABASE_URL" => url })
      assert_refused ended, 2, /DATABASE_URL/, /db\.example\.com/, /--allow-remote/
      refute_match(/hunter2/, ended.err)
    end
    assert_no_run_folder
  end

  # Resetting a database is what it is for, so that it must not run first and be refused afterwards.
  def test_the_prepare_command_does_not_run_against_a_database_elsewhere
    url = "DATABASE_URL=postgres://db.example.com/shop"
    FileUtils.cp(File.join(APPS, "hello/config.ru"), @dir)
    { "touch a" => ["--env", url], "touch b; echo #{url}" => [] }.each do |prepare, words|
      file("powerband.toml", "[app]\nprepare = '#{prepare}'\n")
      ended = powerband("compare", "threads=1", "threads=2", "--rehearse", "--app", @dir, "--runs", runs, *words)
      assert_refused ended, 2, /DATABASE_URL points at "db\.example\.com"/, /--allow-remote db\.example\.com:5432/
    end
    refute_path_exists File.join(@dir, "a")
    assert_path_exists File.join(@dir, "b"), "what it prints is known once it has run"
  end

  # A cache that is allowed says nothing of a database whose host Ruby computes.
  def test_no_command_runs_on_a_database_that_is_not_known
    FileUtils.cp(File.join(APPS, "hello/config.ru"), @dir)
    FileUtils.mkdir(File.join(@dir, "config"))
    File.write(File.join(@dir, "config/database.yml"), "production:\n  host: <%= Zone.host %>\n")
    { "app.prepare" => "[app]\nprepare = 'touch reset'\n",
      "before_trial" => "[hooks]\nbefore_trial = 'touch reset'\n" }.each do |command, config|
      file("powerband.toml", config)
      ended = powerband("compare", "threads=1", "threads=2", "--rehearse", "--app", @dir, "--runs", runs,
                        "--allow-remote", "cache:6379")
      assert_refused ended, 2, /database\.yml:2, host is computed by Ruby, so that it is not known what #{command} may change/,
                     /write the address in its place .*or leave out #{command}$/
      assert_one_message ended
    end
    refute_path_exists File.join(@dir, "reset")
    assert_no_run_folder
  end

  # Ruby may load the application's code, by RUBYOPT.
  def test_ruby_does_not_start_before_the_addresses_are_known
    File.write(File.join(@dir, "ruby"), "#!/bin/sh\ntouch #{@dir}/started\n")
    File.chmod(0o755, File.join(@dir, "ruby"))
    ended = powerband(*experiment("sweep", "threads=1,2").drop(1),
                      env: { "DATABASE_URL" => "postgres://db.example.com/shop", "PATH" => "#{@dir}:#{ENV.fetch('PATH')}" })
    assert_refused ended, 2, /DATABASE_URL points at "db\.example\.com"/
    refute_path_exists File.join(@dir, "started")
  end

  def test_services_elsewhere_are_allowed_by_name_alone
    [["--allow-remote"], ["--allow-remote", "--rehearse"]].each do |words|
      ended = powerband(*experiment("compare", "threads=1", "threads=2", *words).drop(1))
      assert_equal 2, ended.code, ended.to_s
      assert_match(/--allow-remote <HOST:PORT>/, ended.err)
    end
    ended = powerband(*experiment("compare", "threads=1", "threads=2", "--allow-remote", "db.staging").drop(1))
    assert_refused ended, 2, /--allow-remote = "db\.staging": names no port; .*--allow-remote db\.staging:5432, once for each/
    ended = powerband("compare", "--config", file("all.toml", "[safety]\nallow_remote = true\n"))
    assert_refused ended, 2, /safety\.allow_remote .*= "true": .*--allow-remote db\.staging:5432/
    assert_no_run_folder
  end

  def test_no_ruby
    ended = powerband(*experiment("sweep", "threads=1,2").drop(1), env: { "PATH" => @dir })
    assert_refused ended, 2, /no Ruby/, /install Ruby 3\.2 or newer/, /`powerband report` and `powerband runs` work/
    assert_one_message ended
    assert_no_run_folder
  end

  def test_a_ruby_that_is_too_old
    old = File.join(@dir, "ruby")
    File.write(old, "#!/bin/sh\nprintf '%s\\n' 3.1.2 ruby 3.1.0 x86_64-linux /opt/ruby\n")
    File.chmod(0o755, old)
    ended = powerband(*experiment("sweep", "threads=1,2").drop(1), env: { "PATH" => "#{@dir}:#{ENV.fetch('PATH')}" })
    assert_refused ended, 2, %r{Ruby 3\.1\.2 at /opt/ruby is too old}, /3\.2 or newer/, /work without Ruby/
    assert_one_message ended
    assert_no_run_folder
  end

  def test_what_works_without_ruby_does
    ended = powerband("runs", "--runs", runs, env: { "PATH" => @dir })
    assert_equal 0, ended.code, ended.to_s
  end

  # The least that is named is enough for the plan: the message is not repeated one step later. A Ruby that is missing
  # ends the second run right after its plan was accepted.
  def test_a_budget_too_short_for_six_blocks
    %w[tune compare].each do |verb|
      arms = verb == "compare" ? %w[threads=1 threads=2] : []
      ended = powerband(*experiment(verb, *arms, "--budget", "20s").drop(1))
      assert_refused ended, 2, /--budget = "20s": too short for six blocks/
      assert_one_message ended
      least = ended.err[/give --budget (\w+) or more/, 1]
      accepted = powerband(*experiment(verb, *arms, "--budget", least).drop(1), env: { "PATH" => @dir })
      assert_match(/no Ruby/, accepted.err)
    end
    assert_no_run_folder
  end

  def test_everything_wrong_is_told_at_once
    config = file("powerband.toml", <<~TOML)
      [app]
      dir = "#{APPS}/io"
      [tune]
      bugdet = "8m"
      threads = [1, "many"]
    TOML
    ended = powerband("tune", "--config", config, "--slo", "p99=250", "--env", "nothing", "--runs", runs)
    assert_refused ended, 2, /tune\.bugdet/, /many/, /--slo = "p99=250"/, /--env = "nothing"/
    assert_equal 4, ended.messages.size, ended.to_s
    assert_no_run_folder
  end

  def test_a_knob_that_is_wrong_is_told_beside_the_rest
    ended = powerband(*experiment("compare", "threads=0", "turbo=1", "--margin", "lots").drop(1))
    assert_refused ended, 2, /"0"/, /turbo/, /lots/
    assert_equal 3, ended.messages.size, ended.to_s
  end

  def test_the_same_configuration_among_several_is_refused
    ended = powerband(*experiment("sweep", "threads=2,2").drop(1))
    assert_refused ended, 2, /named twice/
    assert_one_message ended
  end

  def test_resuming_what_is_no_run
    ended = powerband(*experiment("sweep", "threads=1,2", "--resume", @dir).drop(1))
    assert_refused ended, 2, /run\.json/
    assert_one_message ended
    assert_no_run_folder
  end

  def test_an_application_that_is_no_folder
    ended = powerband("tune", "--app", "#{@dir}/nowhere", "--runs", runs)
    assert_refused ended, 2, /nowhere is no folder/, /--app/
    assert_no_run_folder
  end

  # A usual first mistake: powerband is started in another folder than the application's.
  def test_a_folder_without_an_application
    [%w[tune], %w[compare threads=1 threads=2], %w[sweep threads=1,2], %w[capacity --slo p99=250ms],
     %w[predict --validate]].each do |words|
      ended = powerband(*words, "--runs", runs)
      assert_refused ended, 2, /#{Regexp.escape(File.realpath(@dir))} holds no application: it has no config\.ru/, /--app DIR/
      assert_one_message ended
      refute_match(/as the application is configured/, ended.err)
    end
    ended = powerband("compare", "threads=1", "threads=2", "--server", "ruby -e 'abort %(mine)' {port}", "--rehearse",
                      "--runs", runs)
    assert_match(/mine/, ended.err, "a command of the user's own starts what it likes")
  end

  private

  def file(name, text)
    File.join(@dir, name).tap { |path| File.write(path, text) }
  end

  def assert_one_message(ended)
    assert_equal 1, ended.messages.size, ended.to_s
  end

  def assert_told_once(ended, words)
    assert_equal 1, ended.err.scan(words).size, ended.to_s
  end

  # A run that failed in its first trial is kept, because the message names a log in it; what is there is whole.
  def assert_failed_run_is_whole
    assert_equal "failed", document["state"]
    assert_equal %w[failed], document["trials"].map { |trial| trial["status"] }
    assert_nothing_half_written
  end
end
