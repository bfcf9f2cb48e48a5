# frozen_string_literal: true

require "fileutils"
require "open3"
require "tmpdir"
require_relative "support/powerband"

# `powerband init` writes a powerband.toml that the other verbs accept; `powerband` alone says what a folder holds.
class InitTest < PowerbandTest
  parallelize_me!

  STOREFRONT = File.join(ROOT, "examples/storefront")

  def application
    Dir.mktmpdir do |dir|
      File.write(File.join(dir, "config.ru"), "run ->(_) { [200, {}, []] }\n")
      File.write(File.join(dir, "Gemfile.lock"), "GEM\n  specs:\n    puma (6.6.0)\n    rails (7.2.2)\n")
      yield dir
    end
  end

  def log(dir, name, requests)
    FileUtils.mkdir_p(File.join(dir, "log"))
    lines = requests.flat_map do |target, times|
      ["Started GET \"#{target}\" for 127.0.0.1 at 2026-11-24 10:00:00 +0000\n"] * times
    end
    File.write(File.join(dir, "log", name), lines.join)
  end

  def test_pages_come_from_the_log_and_the_file_is_accepted
    application do |dir|
      log(dir, "production.log", "/" => 6, "/products/7" => 3, "/login?token=s3cret" => 1)
      made = powerband("init", "--app", dir)
      assert_equal 0, made.code, made.err
      assert_match(
        %r{powerband\.toml is written for a Rails 7\.2\.2 application with Puma .*: 3 pages from log/production\.log}, made.err
      )
      text = File.read(File.join(dir, "powerband.toml"))
      assert_includes text, %(path = "/products/7"\nweight = 30)
      refute_includes text, "s3cret"
      # Nothing but the budget is wrong.
      refused = powerband("tune", "--app", dir, "--budget", "1s")
      assert_refused refused, 2, /--budget = "1s": too short/
    end
  end

  def test_a_file_that_is_there_is_replaced_only_with_force
    application do |dir|
      log(dir, "development.log", "/" => 2)
      file = File.join(dir, "powerband.toml")
      File.write(file, "# mine\n")
      refused = powerband("init", "--app", dir)
      assert_refused refused, 2, /powerband\.toml: the file is there already; add --force to replace all of it/
      printed = powerband("init", "--app", dir, "--print")
      assert_includes printed.out, %(path = "/")
      assert_equal "# mine\n", File.read(file)
      assert_equal 0, powerband("init", "--app", dir, "--force").code
      assert_equal 0o666 & ~File.umask, File.stat(file).mode & 0o777, "as of any new file"
      assert_includes File.read(file), "log/development.log"
      [0o600, 0o666].each do |mode|
        File.chmod(mode, file)
        assert_equal 0, powerband("init", "--app", dir, "--force").code
        assert_equal mode, File.stat(file).mode & 0o777, "the mode of the file that is replaced"
      end
    end
  end

  # init and tune name [app.env] as the place of a variable that is missing.
  def test_a_file_with_nothing_but_variables_needs_no_force
    application do |dir|
      log(dir, "development.log", "/" => 2)
      file = File.join(dir, "powerband.toml")
      variables = "[app.env]\nA = \"x\"\n"
      ["# mine\n#{variables}", "[app]\nenvironment = \"staging\"\n#{variables}", "[tune]\nblocks = 6\n"].each do |more|
        File.write(file, more)
        assert_refused powerband("init", "--app", dir), 2, /add --force to replace all of it but \[app\.env\], or --print/
        assert_equal more, File.read(file)
      end
      File.write(file, "[app.env]\nSTRIPE_KEY = \"x\"\n")
      assert_equal 0, powerband("init", "--app", dir).code
      assert_match(%r{^path = "/"$}, File.read(file))
      assert_match(/^\[app\.env\]\nSTRIPE_KEY = "x"$/, File.read(file))
    end
  end

  # Its variables would be lost.
  def test_a_file_with_errors_is_not_replaced
    application do |dir|
      log(dir, "development.log", "/" => 2)
      file = File.join(dir, "powerband.toml")
      wrong = "[app.env]\nSTRIPE_KEY = \"x\"\n[objective\n"
      File.write(file, wrong)
      refused = powerband("init", "--app", dir, "--force")
      assert_refused refused, 2, /powerband\.toml/, /init keeps \[app\.env\] of this file: correct it, or remove it/
      assert_equal wrong, File.read(file)
    end
  end

  # It stops the runner that loads it, as the end of the time for it does.
  def test_the_script_that_asks_for_pages_ends_on_a_signal
    stub = <<~RUBY
      module Rack
        class MockRequest
          def self.env_for(url, _) = { url: }
        end
      end
      module Rails
        module VERSION
          STRING = "7.2.2"
        end
        Application = Struct.new(:config) do
          def env_config = {}

          def call(env)
            Process.kill(:TERM, Process.pid) && sleep(10) if env[:url].end_with?("/end")
            [200, {}, []]
          end
        end
        def self.application = Application.new(Struct.new(:force_ssl).new(false))
      end
    RUBY
    stubs, paths, answers = %w[stub.rb paths answers].map { |name| File.join(@dir, name) }
    File.write(stubs, stub)
    asks = lambda do |most, *asked|
      File.write(paths, asked.join("\n"))
      env = { "POWERBAND_PATHS" => paths, "POWERBAND_ANSWERS" => answers, "POWERBAND_MOST" => most.to_s }
      finish(start(RbConfig.ruby, "-r", stubs, File.join(ROOT, "crates/setup/src/answered.rb"), env:))
    end
    ended = asks.call(2, "/a", "/end", "/b")
    assert_predicate ended.status, :signaled?, ended.to_s
    refute_includes File.read(answers), "/end"
    assert_equal 0, asks.call(2, "/a", "/b", "/end").code
    assert_equal "200\t\t/a\n200\t\t/b\n", File.read(answers)
  end

  def test_an_access_log_is_read_too
    application do |dir|
      access = File.join(dir, "access.log")
      line = ->(method, path) { %(10.0.0.1 - - [24/Nov/2026:10:00:00 +0000] "#{method} #{path} HTTP/1.1" 200 512 "-" "curl"\n) }
      File.write(access, (line.call("GET", "/books") * 3) + line.call("POST", "/books") + line.call("GET", "/logo.png"))
      printed = powerband("init", "--app", dir, "--from", access, "--print")
      assert_equal 0, printed.code, printed.err
      assert_includes printed.out, %(path = "/books"\nweight = 100)
      assert_includes printed.out, "1 requests of other methods"
      refute_includes printed.out, "logo"
    end
  end

  def test_without_a_log_rails_says_its_routes
    printed = powerband("init", "--app", STOREFRONT, "--from", File.join(STOREFRONT, "config/routes.rb"), "--print")
    assert_refused printed, 2, /routes\.rb/, %r{docs/traffic\.md lists the formats}
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{STOREFRONT}/.", dir)
      FileUtils.rm_rf(File.join(dir, "log"))
      made = powerband("init", "--app", dir, "--print")
      assert_equal 0, made.code, made.err
      assert_match(%r{asking bin/rails routes, which boots the application}, made.err)
      assert_includes made.out, %(path = "/"\n)
      refute_match(%r{:id|"/up"}, made.err)
    end
  end

  # As tune does before it measures.
  def test_rails_generates_the_file_that_init_writes
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{STOREFRONT}/.", dir)
      FileUtils.rm_f(File.join(dir, "powerband.toml"))
      FileUtils.mkdir_p(File.join(dir, "log"))
      File.write(File.join(dir, "log/production.log"),
                 %(Started GET "/products" for 127.0.0.1 at 2026-01-01 00:00:00 +0000\n) * 3)
      generate = [RbConfig.ruby, "-I", File.join(ROOT, "gem/lib"), "bin/rails", "generate", "powerband:install"]
      made = finish(start(*generate, env: { "POWERBAND_BINARY" => BINARY }, chdir: dir))
      assert_equal 0, made.code, made.to_s
      assert_includes File.read(File.join(dir, "powerband.toml")), %(path = "/products"), made.to_s
      again = finish(start(*generate, env: { "POWERBAND_BINARY" => BINARY }, chdir: dir))
      assert_equal 1, again.code, again.to_s
      assert_match(/the file is there already; add --force/, again.err)
      destroy = generate.map { |word| word == "generate" ? "destroy" : word }
      undone = finish(start(*destroy, env: { "POWERBAND_BINARY" => BINARY }, chdir: dir))
      assert_match(/kept +powerband.toml/, undone.out, undone.to_s)
      assert_path_exists File.join(dir, "powerband.toml")
    end
  end

  def test_pages_of_routes_are_asked_for_once
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{STOREFRONT}/.", dir)
      FileUtils.rm_rf([File.join(dir, "log"), File.join(dir, "powerband.toml")])
      seeded, err, status = Open3.capture3("bin/seed", "tmp/demo", chdir: dir)
      assert_predicate status, :success?, err
      routes = File.join(dir, "config/routes.rb")
      more = <<~ROUTES
        get "/members", to: "members#show"
        get "/broken", to: "members#broken"
        get "/gone", to: "members#gone"
      ROUTES
      File.write(File.join(dir, "app/controllers/members_controller.rb"), <<~RUBY)
        class MembersController < ActionController::Base
          def show = redirect_to("/login")
          def broken = raise(KeyError, "no")
          def gone = raise(ActiveRecord::RecordNotFound)
        end
      RUBY
      File.write(routes, File.read(routes).sub("routes.draw do\n") { |line| line + more })
      env = "[app.env]\nDATABASE_URL = #{seeded[/DATABASE_URL=(.*)/, 1].inspect}\nSECRET_KEY_BASE = \"x\"\n"
      File.write(File.join(dir, "powerband.toml"), env)
      # As Kubernetes sets for a Service: no address that the application connects to.
      link = { "FOO_SERVICE_HOST" => "10.0.0.1", "FOO_SERVICE_PORT" => "80" }
      made = powerband("init", "--app", dir, "--force", env: link)
      assert_equal 0, made.code, made.to_s
      text = File.read(File.join(dir, "powerband.toml"))
      assert_includes text, %(\npath = "/"\n), made.to_s
      refute_includes text, %("/products"), "the action of /"
      request = Regexp.escape(%(\n# [[workload.request]]\n# path = "/members"))
      why = %r{it redirects to http.*/login; a page that needs a login needs a session \(docs/load\.md\)}
      assert_match(%r{^# GET /members: #{why}#{request}$}, text)
      assert_includes text, "\n# GET /broken: it raises KeyError: no\n"
      assert_includes text, "\n# GET /gone: it answers 404\n"
      assert_match(/and \d+ more as comments, with the reason/, (made.out + made.err))
      assert_includes text, env.lines[1]
    end
  end

  def test_a_database_that_is_down_is_the_reason_that_is_named
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{STOREFRONT}/.", dir)
      FileUtils.rm_rf([File.join(dir, "log"), File.join(dir, "powerband.toml")])
      File.write(File.join(dir, "app/controllers/down_controller.rb"), <<~RUBY)
        class DownController < ActionController::Base
          def up = head(:ok)
          def one = raise(ActiveRecord::ConnectionNotEstablished, %(connection to server at "127.0.0.1" failed: refused\\nUp?))
          alias_method :two, :one
          def secret
            raise "no password supplied"
          rescue RuntimeError
            raise ActiveRecord::DatabaseConnectionError.hostname_error("127.0.0.1")
          end
        end
      RUBY
      File.write(File.join(dir, "config/routes.rb"), <<~RUBY)
        Rails.application.routes.draw { { about: :up, one: :one, two: :two, secret: :secret }.each { |path, name| get "/\#{path}", to: "down#\#{name}" } }
      RUBY
      made = powerband("init", "--app", dir, "--env", "SECRET_KEY_BASE=x")
      assert_equal 0, made.code, made.to_s
      reason = %(ActiveRecord::ConnectionNotEstablished: connection to server at "127.0.0.1" failed: refused)
      assert_includes made.err, "2 pages raise #{reason}; start the database; if it runs, config/database.yml has another"
      written = File.read(File.join(dir, "powerband.toml"))
      assert_includes written, "\n# GET /one: it raises #{reason}\n"
      assert_includes written, "\n# GET /secret: it raises RuntimeError: no password supplied\n"
    end
  end

  def test_an_application_that_does_not_boot_gets_no_file
    Dir.mktmpdir do |dir|
      FileUtils.cp_r("#{STOREFRONT}/.", dir)
      FileUtils.rm_rf([File.join(dir, "log"), File.join(dir, "powerband.toml")])
      File.write(File.join(dir, "config/initializers/stripe.rb"), %(ENV.fetch("STRIPE_KEY")\n))
      refused = powerband("init", "--app", dir)
      assert_refused refused, 3, %r{bin/rails routes failed}, /key not found: "STRIPE_KEY"/, /--env STRIPE_KEY=VALUE/
      refute_includes refused.err, "/tmp/.tmp"
      refute_path_exists File.join(dir, "powerband.toml")
      made = powerband("init", "--app", dir, "--env", "STRIPE_KEY=x")
      assert_equal 0, made.code, made.err
      assert_includes File.read(File.join(dir, "powerband.toml")), %(path = "/"\n)
      assert_refused powerband("init", "--app", dir, "--force", "--env", "STRIPE_KEY"), 2, /--env = "STRIPE_KEY": sets nothing/
    end
  end

  def test_what_is_no_application
    Dir.mktmpdir do |dir|
      refused = powerband("init", "--app", dir)
      assert_refused refused, 2, /--app = .*: no application is there \(config\.ru/
    end
    application do |dir|
      empty = File.join(dir, "log.txt")
      log(dir, "posts.log", "/app.css" => 3)
      FileUtils.touch(empty)
      assert_refused powerband("init", "--app", dir, "--from", empty), 2, /--from = .*log\.txt/
      styles = File.join(dir, "log/posts.log")
      assert_refused powerband("init", "--app", dir, "--from", styles), 2, /no GET request for a page is in it/
      refute_path_exists File.join(dir, "powerband.toml")
    end
  end

  def test_powerband_alone_says_what_is_here
    here = powerband(chdir: STOREFRONT)
    assert_equal 0, here.code, here.err
    assert_match(
      /\AThis folder holds a Rails( [\d.]+)? application( with Puma [\d.]+)?, configured for a single process and 3 threads\./,
      here.out
    )
    assert_includes here.out, "powerband tune "
    Dir.mktmpdir do |dir|
      empty = powerband(chdir: dir)
      assert_equal 0, empty.code
      assert_match(/\AThis folder holds no Ruby application/, empty.out)
      assert_includes empty.out, "powerband init"
    end
  end
end
