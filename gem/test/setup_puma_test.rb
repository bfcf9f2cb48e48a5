# frozen_string_literal: true

require "test_helper"
require "support/setup_server"

# What is set up from outside in real Puma servers, as the application inside sees it.
class SetupPumaTest < Minitest::Test
  include SetupServer

  ALL = { "WARMUP" => 1, "COMPACT" => 1, "AUTO_COMPACT" => 1, "GC_PROFILER" => 1, "REQUIRE" => "drop_in" }.freeze

  def test_nothing_is_loaded_where_no_variable_is_set
    with_setup(PumaServer, "-w", "2", "-t", "1:1", "--preload") do |server|
      ask_all(server, 2).each do |answer|
        assert_equal [0, false, false, [], []], answer.values_at("features", "profiler", "auto_compact", "warmup", "compact")
      end
      assert_empty reports(server)
    end
  end

  def test_single_mode
    with_setup(PumaServer, "-t", "1:3", setup: ALL) do |server|
      answer = ask(server)
      assert_set_up(answer, by: server.pid)
      report = report_of(server, server.pid)

      assert_equal [1, "server", [], REFUSED], report.values_at("v", "role", "inherited", "failed")
      assert_equal [0, 0, false], report.values_at("oob_gc", "oob_gc_runs", "oob_gc_minor_only")
      assert_equal server.flights.map { |f| f.header[:start_ticks] }, reports(server).map { |one| one["start_ticks"] }
    end
  end

  def test_a_cluster_that_does_not_preload_is_set_up_in_each_worker
    with_setup(PumaServer, "-w", "2", "-t", "1:1", *PumaServer::NO_PRELOAD, setup: ALL) do |server|
      answers = ask_all(server, 2)
      answers.each { |answer| assert_set_up(answer, by: answer["pid"]) }
      assert_equal [["server", []]] * 2, reports(server).map { |report| report.values_at("role", "inherited") }
    end
  end

  def test_a_master_that_preloads_warms_up_once_before_it_forks
    with_setup(PumaServer, "-w", "2", "-t", "1:1", "--preload", setup: ALL) do |server|
      ask_all(server, 2).each do |answer|
        assert_set_up(answer, by: server.pid)
        report = report_of(server, answer["pid"])

        assert_equal ["server", WARMS ? %w[compact warmup] : %w[compact]], report.values_at("role", "inherited")
      end
      master = report_of(server, server.pid)

      assert_equal ["master", WARMS, true, REFUSED], master.values_at("role", "warmup", "compact", "failed")
      assert_equal [false, false], master.values_at("auto_compact", "gc_profiler")
    end
  end

  # Neither for a worker in another's place nor for the next one.
  def test_a_worker_that_comes_later_is_forked_from_what_was_warmed_up
    with_setup(PumaServer, "-w", "1", "-t", "1:1", "--preload", setup: ALL) do |server|
      before = ask(server)["pid"]
      Process.kill("KILL", before)
      later = server.await("an answer of another worker") { ask(server)&.then { |answer| answer if answer["pid"] != before } }

      assert_set_up(later, by: server.pid)
    end
  end

  def test_a_worker_that_forks_workers_warms_up_before_the_first
    arguments = ["-w", "2", "-t", "1:1", "--fork-worker", *PumaServer::NO_PRELOAD]
    with_setup(PumaServer, *arguments, setup: ALL.merge("OOB_GC" => 2)) do |server|
      answers = ask_all(server, 2)
      first = answers.flat_map { |answer| answer["compact"] }.uniq

      assert_equal 1, first.size
      assert_includes answers.map { |answer| answer["pid"] }, first.first
      answers.each { |answer| assert_set_up(answer, by: first.first) }
      server.await("a collection in each") do
        ask(server)
        reports(server).count { |report| report["oob_gc_runs"].positive? } == 2
      end
    end
  end

  def test_by_the_plugin_alone
    Dir.mktmpdir do |folder|
      config = File.join(folder, "puma.rb")
      File.write(config, "plugin :powerband\nthreads 1, 1\nworkers 2\npreload_app!\n")
      with_setup(PumaServer, "-C", config, setup: ALL, env: { "RUBYOPT" => "-rsetup_spy" }) do |server|
        ask_all(server, 2).each { |answer| assert_set_up(answer, by: server.pid) }
      end
    end
  end

  # The application is being loaded when it brings the agent along: what is before that is too late to be hooked.
  def test_by_the_middleware_alone
    setup = ALL.merge("OOB_GC" => 2)
    with_setup(PumaServer, "-t", "1:1", setup:, env: { "RUBYOPT" => "-rsetup_spy", "WITH_MIDDLEWARE" => "1" }) do |server|
      answer = ask(server)

      assert_equal [true, true], answer.values_at("profiler", "auto_compact")
      assert_equal [warmed(server.pid), [server.pid]], answer.values_at("warmup", "compact")
      assert_majors_rise(server)
    end
  end

  def test_a_warm_up_that_fails_stops_nothing_and_is_told_once
    failure = WARMS ? { "what" => "warmup", "why" => "no warmth today (RuntimeError)" } : REFUSED.first
    with_setup(PumaServer, "-w", "2", "-t", "1:1", "--preload", setup: ALL, env: { "SPY_RAISES" => "1" }) do |server|
      answers = ask_all(server, 2)
      assert_equal [[true, true, [server.pid]]], answers.map { |a| a.values_at("profiler", "auto_compact", "compact") }.uniq
      reports(server).each do |report|
        assert_equal [false, true], report.values_at("warmup", "compact")
        assert_equal [failure], report["failed"]
      end
      assert_equal 1, server.log.scan("powerband: not set up as asked: warmup: #{failure['why']}").size, server.log
    end
  end

  def test_a_report_that_cannot_be_written_stops_nothing
    with_setup(PumaServer, "-t", "1:1", setup: ALL, env: { "POWERBAND_DIR" => "/proc/nowhere" }) do |server|
      assert_set_up(ask(server), by: server.pid)
      assert_match(/powerband: what was set up is not reported: /, server.log)
    end
  end

  # An application that collects in each request keeps no more than its own record; it would keep all of them.
  def test_the_profile_is_cleared_around_each_request
    with_setup(PumaServer, "-t", "1:1", setup: { "GC_PROFILER" => 1 }) do |server|
      counts = Array.new(5) { ask(server, "/gc") }.map { |answer| answer["records"] }

      assert_operator counts.min, :>=, 1
      assert_operator counts.max, :<, 5, counts.inspect
    end
  end

  def test_out_of_band_after_so_many_requests
    with_setup(PumaServer, "-t", "1:1", setup: { "OOB_GC" => 6 }) do |server|
      first = ask(server)["majors"]

      assert_equal [first] * 3, Array.new(3) { ask(server)["majors"] } # the fifth, with the one that awaited the server
      assert_majors_rise(server)
      assert_equal [6, []], report_of(server, server.pid).values_at("oob_gc", "failed")
    end
  end

  def test_out_of_band_beside_a_hook_of_the_users
    Dir.mktmpdir do |folder|
      config = File.join(folder, "puma.rb")
      File.write(config, "threads 1, 1\nout_of_band { File.write(#{File.join(folder, 'called').inspect}, '') }\n")
      with_setup(PumaServer, "-C", config, setup: { "OOB_GC" => 1 }) do |server|
        assert_majors_rise(server)
        assert_path_exists File.join(folder, "called")
      end
    end
  end

  def test_never_while_a_request_is_in_flight
    Dir.mktmpdir do |folder|
      with_setup(PumaServer, "-t", "2:2", setup: { "OOB_GC" => 2 }, env: { "WAITING" => folder }) do |server|
        waiting = Thread.new { ask(server, "/wait") }
        server.await("a request in flight") { File.exist?(File.join(folder, "there")) }
        majors = Array.new(20) { ask(server)["majors"] }

        assert_equal 1, majors.uniq.size, majors.inspect
        File.write(File.join(folder, "go"), "")
        waiting.value
        assert_majors_rise(server, from: majors.last)
      end
    end
  end

  private

  # `by`: the process that warmed up and compacted.
  def assert_set_up(answer, by:)
    assert_equal [warmed(by), [by]], answer.values_at("warmup", "compact")
    assert_equal [true, true], answer.values_at("profiler", "auto_compact")
    assert_equal %w[drop_in application], answer["order"]
  end

  def assert_majors_rise(server, from: ask(server)["majors"])
    server.await("a collection out of band") { ask(server)["majors"] > from }
    server.await("the report of it") { reports(server).any? { |report| report["oob_gc_runs"].positive? } }
  end
end
