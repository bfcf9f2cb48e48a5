# frozen_string_literal: true

require_relative "support/experiments"
require_relative "support/powerband"

# An experiment in production whose servers are started as ever, by `bundle exec puma`: the gem's plugin draws their arm.
class PumaDrawTest < PowerbandTest
  include Experiments

  # What Puma reads before it starts again, and before Ruby starts: the arm has both.
  SETTING = "RAILS_MAX_THREADS = 5\nRUBY_GC_HEAP_GROWTH_FACTOR = 1.3"

  def test_single_mode_and_a_cluster
    file = experiment(setting: SETTING)
    [["slow", [], 5, "1.3"], ["today", %w[-w 2], 3, nil]].each do |arm, flags, threads, factor|
      site = plugged(file, unit_of(file, arm), *flags)
      assert_match(/arm="#{arm}:\h{8}:0",threads="#{threads}"/, info(site))
      assert_equal [factor], environment(site).values_at("RUBY_GC_HEAP_GROWTH_FACTOR")
      assert_equal 1, site.started.err.scan(/unit \S+ runs #{arm} in period 0/).size, site.started.to_s
      stop(site, :KILL)
    end
  end

  def test_a_halted_arm
    file = experiment(setting: SETTING)
    unit = unit_of(file, "slow")
    File.write("#{file}.halted", "[[halted]]\narm = \"slow\"\n")
    site = plugged(file, unit)
    assert_match(/arm="today:\h{8}:0:slow",threads="3"/, info(site))
  ensure
    stop(site, :KILL) if site
  end

  def test_a_restart_by_exec_keeps_the_arm_in_another_period
    file = experiment(period: "1s", setting: SETTING)
    before, after = restarted(file)
    assert_equal before, after
    site = plugged(file, "web-1")
    assert_operator period(label(site)), :>, period(before)
  ensure
    stop(site, :KILL) if site
  end

  def test_a_wrong_file_does_not_keep_puma_from_starting
    file = File.join(@dir, "wrong.toml")
    File.write(file, "name = 'a'\n")
    site = plugged(file, "web-1")
    assert_match(/arm="",threads="3"/, info(site))
    assert_match(/wrong.toml: line 1: starts: missing/, site.started.err)
    assert_match(/^powerband: POWERBAND_EXPERIMENT=#{file}: no arm is drawn; Puma serves/, site.started.err)
  ensure
    stop(site, :KILL) if site
  end

  private

  def plugged(file, unit, *flags)
    port = free_port
    env = { "POWERBAND_EXPERIMENT" => file, "POWERBAND_UNIT" => unit, "POWERBAND_BINARY" => BINARY,
            "POWERBAND_DIR" => File.join(@dir, "flight-#{port}") }
    started = start("bundle", "exec", "puma", *flags, "-b", "tcp://127.0.0.1:#{port}", chdir: application, env: env)
    await("Puma to listen", of: started) { listens?(port) }
    Serving.new(started, port)
  end

  # Made once a test.
  def application
    @application ||= File.join(@dir, "application").tap do |folder|
      FileUtils.mkdir_p(File.join(folder, "config"))
      File.write(File.join(folder, "Gemfile"), <<~RUBY)
        source "https://rubygems.org"
        gem "puma"
        gem "rack"
        gem "powerband", path: #{File.join(ROOT, 'gem').inspect}
      RUBY
      File.write(File.join(folder, "config/puma.rb"), <<~RUBY)
        plugin :powerband
        threads 1, Integer(ENV.fetch("RAILS_MAX_THREADS", 3))
      RUBY
      FileUtils.cp(File.join(SCRAPED, "config.ru"), folder)
      FileUtils.cp(File.join(APPS, "work.rb"), @dir)
      ended = finish(start("bundle", "install", "--local", chdir: folder))
      assert_equal 0, ended.code, ended.to_s
    end
  end

  # The labels before and after a restart in another period. A Puma that dies as it ends (`deadlocked?`) is started once more.
  def restarted(file, starts: 3)
    site = plugged(file, "web-1")
    before = label(site)
    await("another period") { period(dry_run(file, "web-1")[/^POWERBAND_ARM=(.+)$/, 1]) > period(before) }
    site.started.signal(:USR2)
    await("the restart") { site.started.status || site.started.out.scan("Puma starting").size == 2 }
    return [before, label(site)] unless site.started.status

    ended = finish(site.started)
    assert deadlocked?(ended) && (starts -= 1).positive?, ended.to_s
    restarted(file, starts: starts)
  ensure
    stop(site, :KILL) if site && !site.started.status
  end

  def info(site)
    await("the server's metrics", of: site.started) { site.get("/metrics").body[/^powerband_server_info\{.*/] }
  end

  def label(site) = info(site)[/arm="([^"]*)"/, 1]

  def period(label) = label[/\d+\z/].to_i

  # As the process was started.
  def environment(site)
    File.read("/proc/#{site.started.pid}/environ").split("\0").to_h { |pair| pair.split("=", 2) }
  end
end
