# frozen_string_literal: true

# Each application in this folder, under Rack::Lint, in this process: that it is legal Rack and does what it says.
# Run with: ruby e2e/apps/apps_test.rb
require "json"
require "minitest/autorun"
require "open3"
require "rack"
require "rack/lint"
require "rack/mock_request"
require "rbconfig"

class AppsTest < Minitest::Test
  HERE = __dir__

  def test_the_working_applications_answer
    %w[mixed locked cpu io hello leaky ignores_threads environment clients scraped].each do |name|
      assert_equal 200, get(app(name)).status, name
    end
  end

  def test_answers_500_does
    assert_equal 500, get(app("answers_500")).status
  end

  def test_members_wants_a_session_and_its_own_host
    members = app("members")
    assert_equal [200, 302], %w[/ /account].map { |path| get(members, path).status }
    assert_equal 200, get(members, "/account", "HTTP_COOKIE" => "session=eva").status
    assert_equal 403, get(members, "/hosted/a").status
    assert_equal 200, get(members, "/hosted/a", "HTTP_HOST" => "shop.test").status
  end

  def test_https_only_redirects_what_a_proxy_did_not_send
    https_only = app("https_only")
    assert_equal "https://example.org/x?y", get(https_only, "/x?y").headers["location"]
    assert_equal 401, get(https_only, "/", "HTTPS" => "on").status
    known = { "HTTPS" => "on", "HTTP_AUTHORIZATION" => "Bearer s3cret" }
    assert_equal [200, 302], %w[/ /account].map { |path| get(https_only, path, known).status }
  end

  def test_collecting_causes_what_it_is_asked_for
    collecting = app("collecting")
    majors = lambda do |path|
      answer = get(collecting, path)
      assert_equal 200, answer.status
      JSON.parse(answer.body).fetch("major_gc_count")
    end
    before = majors.call("/")
    assert_operator majors.call("/start"), :>, before
    latest = JSON.parse(get(collecting, "/minor").body)
    assert_equal %w[minor method], latest.values_at("kind", "cause")
    assert_equal 200, get(collecting, "/allocate").status
  end

  def test_broken_boot_says_so
    error = assert_raises(RuntimeError) { app("broken_boot") }
    assert_match(/broken_boot: this application refuses to start/, error.message)
  end

  def test_held_time_is_cpu_time_of_the_thread
    with_env("HELD_MS" => "20") do
      cpu = app("cpu")
      get(cpu)
      before = cpu_ms
      get(cpu)
      assert_operator cpu_ms - before, :>=, 20
    end
  end

  def test_waiting_takes_no_cpu_time_but_the_wall
    with_env("HELD_MS" => "0", "WAIT_MS" => "50") do
      io = app("io")
      wall_before = wall_ms
      cpu_before = cpu_ms
      get(io)
      cpu = cpu_ms - cpu_before
      wall = wall_ms - wall_before
      assert_operator wall, :>=, 50
      assert_operator cpu, :<, wall / 2
    end
  end

  # Drawn here again, from the definition.
  def test_the_bursts_of_a_path_are_always_the_same
    random = Random.new(17)
    held, waited, held_again = [20, 50, 20].map { |mean| -mean * Math.log(1 - random.rand) }
    with_env("BURSTS" => "2", "HELD_MS" => "20", "WAIT_MS" => "50") do
      bursts = app("bursts")
      wall_before = wall_ms
      cpu_before = cpu_ms
      assert_equal 200, get(bursts, "/17").status
      assert_operator cpu_ms - cpu_before, :>=, held + held_again
      assert_operator wall_ms - wall_before, :>=, held + waited + held_again
    end
  end

  def test_the_lock_lets_one_request_wait_at_a_time
    with_env("HELD_MS" => "0", "WAIT_MS" => "40") do
      locked = app("locked")
      before = wall_ms
      Array.new(5) { Thread.new { get(locked) } }.each(&:join)
      assert_operator wall_ms - before, :>=, 20 + (5 * 20)
    end
  end

  def test_dies_ends_its_process_after_the_requests_it_was_given
    script = <<~RUBY
      app = Rack::Builder.parse_file("#{HERE}/dies/config.ru")
      4.times { |n| puts n; $stdout.flush; Rack::MockRequest.new(app).get("/") }
    RUBY
    out, status = Open3.capture2({ "DIES_AFTER" => "3" }, RbConfig.ruby, "-rrack", "-rrack/mock_request", "-e", script)
    assert_equal %w[0 1 2 3], out.split
    assert_equal 7, status.exitstatus
  end

  def test_surviving_keeps_an_object_of_each_request
    app = app("surviving")
    before = KEPT.length
    2.times { assert_equal "not frozen6", get(app).body }
    assert_equal before + 2, KEPT.length
  end

  def test_keeping_keeps_an_object_of_each_request_for_a_leak_and_the_latest_of_others
    app = app("keeping")
    before = Keeping::SEEN.length
    2.times { assert_equal 200, get(app, "/leak").status }
    assert_equal before + 2, Keeping::SEEN.length
    200.times { get(app, "/latest") }
    assert_equal 120, Keeping.instance_variable_get(:@latest).size
  end

  def test_every_application_is_covered
    covered = %w[mixed locked cpu io hello leaky ignores_threads answers_500 broken_boot dies traced bursts environment clients
                 https_only members collecting scraped surviving keeping]
    assert_equal covered.sort, Dir.children(HERE).select { |name| File.directory?(File.join(HERE, name)) }.sort
  end

  private

  def app(name)
    Rack::Lint.new(Rack::Builder.parse_file(File.join(HERE, name, "config.ru")))
  end

  def get(app, path = "/", env = {})
    Rack::MockRequest.new(app).get(path, { fatal: true }.merge(env))
  end

  def with_env(settings)
    before = ENV.to_h
    ENV.update(settings)
    yield
  ensure
    ENV.replace(before)
  end

  def cpu_ms
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond)
  end

  def wall_ms
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
  end
end
