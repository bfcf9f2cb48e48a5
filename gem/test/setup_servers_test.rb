# frozen_string_literal: true

require "test_helper"
require "support/passenger_server"
require "support/setup_server"

# What is set up from outside in real Unicorn, Pitchfork, Falcon and Passenger servers, as the application inside sees it.
class SetupServersTest < Minitest::Test
  include SetupServer

  ALL = { "WARMUP" => 1, "COMPACT" => 1, "AUTO_COMPACT" => 1, "GC_PROFILER" => 1, "REQUIRE" => "drop_in", "OOB_GC" => 3 }.freeze

  def test_unicorn_that_preloads
    unicorn(preload: true) do |server|
      ask_all(server, 2).each { |answer| assert_set_up(server, answer, by: server.pid, inherited: %w[compact warmup]) }
      assert_equal "master", report_of(server, server.pid)["role"]
      assert_collects(server)
    end
  end

  def test_unicorn_that_does_not
    unicorn(preload: false) do |server|
      ask_all(server, 2).each { |answer| assert_set_up(server, answer, by: answer["pid"]) }
      assert_equal ["server"], reports(server).map { |report| report["role"] }.uniq
      assert_collects(server)
    end
  end

  # The class is hooked while the application is being loaded: in the worker it is too late to load a library before it.
  def test_unicorn_by_the_middleware_alone
    [true, false].each do |preload|
      unicorn(preload:, env: { "RUBYOPT" => "-rsetup_spy", "WITH_MIDDLEWARE" => "1" }) do |server|
        ask_all(server, 2).each do |answer|
          assert_equal [true, true], answer.values_at("profiler", "auto_compact")
          assert_equal [[preload ? server.pid : answer["pid"], "loaded"]], answer["warmup"]
        end
        assert_collects(server)
      end
    end
  end

  # What a reload loads anew is warmed up as what was loaded first.
  def test_unicorn_that_loads_its_application_anew
    unicorn(preload: true) do |server|
      before = ask_all(server, 2).map { |answer| answer["pid"] }
      Process.kill("HUP", server.pid)
      later = server.await("a worker of the new application") { ask(server)&.then { |a| a unless before.include?(a["pid"]) } }

      assert_equal [[server.pid, "loaded"]] * 2, later["warmup"]
    end
  end

  def test_pitchfork
    pitchfork do |server|
      answers = ask_all(server, 2)
      mold = reports(server).find { |report| report["role"] == "master" }
      answers.each { |answer| assert_set_up(server, answer, by: mold["pid"], inherited: %w[compact warmup]) }
      assert_collects(server)
    end
  end

  # A mold that a worker has forked is warmed up as well before it forks workers.
  def test_pitchfork_that_reforks
    pitchfork("refork_after [3, false]\n") do |server|
      before = ask_all(server, 2).map { |answer| answer["pid"] }
      later = server.await("a worker of the next generation") { ask(server)&.then { |a| a unless before.include?(a["pid"]) } }
      molds = reports(server).filter_map { |report| report["pid"] if report["role"] == "master" }

      assert_equal 2, molds.size
      assert_equal molds.map { |mold| [mold, "loaded"] }.sort, later["warmup"].sort
      assert_equal %w[compact warmup], report_of(server, later["pid"])["inherited"]
    end
  end

  # Each process loads the application by itself. Falcon has no hook at which a process serves nothing, so oob_gc is refused.
  def test_falcon
    skip FalconServer.missing if FalconServer.missing
    with_setup(FalconServer, "--count", "2", setup: ALL) do |server|
      ask_all(server, 2).each do |answer|
        assert_equal [[[answer["pid"], "loaded"]], [answer["pid"]]], answer.values_at("warmup", "compact")
        assert_equal [true, true, %w[drop_in application]], answer.values_at("profiler", "auto_compact", "order")
        report = report_of(server, answer["pid"])

        assert_equal [0, []], report.values_at("oob_gc", "inherited")
        assert_equal ["oob_gc"], report["failed"].map { |failure| failure["what"] }
      end
    end
  end

  def test_passenger_that_preloads
    passenger("smart") do |server|
      answers = ask_all(server, 2)
      preloader = reports(server).find { |report| report["role"] == "master" }
      answers.each { |answer| assert_set_up(server, answer, by: preloader["pid"], inherited: %w[compact warmup]) }
      assert_collects(server)
    end
  end

  def test_passenger_that_does_not
    passenger("direct") do |server|
      ask_all(server, 2).each { |answer| assert_set_up(server, answer, by: answer["pid"]) }
      assert_collects(server)
    end
  end

  private

  def unicorn(preload:, **options, &)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "unicorn.rb")
      File.write(file, "worker_processes 2\npreload_app #{preload}\n")
      with_setup(UnicornServer, "-c", file, setup: ALL, **options, &)
    end
  end

  def pitchfork(config = "", **options, &)
    skip PitchforkServer.missing if PitchforkServer.missing
    Dir.mktmpdir do |folder|
      file = File.join(folder, "pitchfork.rb")
      File.write(file, "worker_processes 2\n#{config}")
      with_setup(PitchforkServer, "-c", file, setup: ALL, **options, &)
    end
  end

  def passenger(method, &)
    skip PassengerServer.missing if PassengerServer.missing
    variables = SPIED.merge("RUBYOPT" => "\"#{SPIED['RUBYOPT']}\"")
                     .merge(ALL.to_h { |name, value| ["POWERBAND_SETUP_#{name}", value.to_s] })
    PassengerServer.run(directives: "PassengerSpawnMethod #{method}", variables:, app: "setup.ru", &)
  end

  # `by`: the process that warmed up and compacted.
  def assert_set_up(server, answer, by:, inherited: [])
    assert_equal [[[by, "loaded"]], [by]], answer.values_at("warmup", "compact")
    assert_equal [true, true], answer.values_at("profiler", "auto_compact")
    assert_equal %w[drop_in application], answer["order"]
    report = report_of(server, answer["pid"])

    assert_equal [true] * 4, report.values_at("warmup", "compact", "auto_compact", "gc_profiler")
    assert_equal ["server", 3, ["drop_in"], inherited, []], report.values_at("role", "oob_gc", "require", "inherited", "failed")
  end

  # In both processes, as the application sees it and as is reported.
  def assert_collects(server)
    first = ask_all(server, 2).to_h { |answer| [answer["pid"], answer["majors"]] }
    server.await("a collection out of band in each process") do
      # Several at once: one after the other they may all go to the process that had the last.
      Array.new(4) { Thread.new { ask(server) } }.filter_map(&:value).each do |answer|
        first.delete(answer["pid"]) if first[answer["pid"]]&.<(answer["majors"])
      end
      first.empty? && reports(server).count { |report| report["oob_gc_runs"].positive? } >= 2
    end
  end
end
