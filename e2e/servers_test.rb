# frozen_string_literal: true

require_relative "support/powerband"
require_relative "../experiments/support/passenger"

# Unicorn, Pitchfork, Falcon, Passenger in Apache, and nginx with TLS in front, as a user measures them.
class ServersTest < PowerbandTest
  parallelize_me!

  def test_unicorn_behind_nginx_that_speaks_tls
    document = rehearsed("unicorn", <<~TOML)
      front = "nginx"
      tls = true
      [[arm]]
      name = "one"
      workers = 1
      [[arm]]
      name = "two"
      workers = 2
      preload = true
      ruby = "#{another_ruby}"
      [arm.nginx]
      workers = 2
    TOML
    assert_match(/\Aunicorn/i, document.fetch("versions").fetch("server"))
    assert_equal [1, 2], document.fetch("arms").map { |arm| arm["settings"]["workers"] }
    assert_equal ["2", another_ruby], document.fetch("arms").last.fetch("environment").map { |set| set["holds"] }
    assert_queued document
  end

  # Without its wait the application answers hundreds of requests a second: workers are replaced all the time.
  def test_pitchfork_that_reforks
    skip_without "pitchfork"
    document = rehearsed("pitchfork", <<~TOML)
      [[arm]]
      name = "one"
      [[arm]]
      name = "two"
      workers = 2
      gc_profiler = true
      ruby = "#{another_ruby}"
      [arm.pitchfork]
      refork_after = [20, 40]
      refork_max_unavailable = 2
      [arm.env]
      WAIT_MS = 0
    TOML
    assert_match(/\Apitchfork \d/, document.fetch("versions").fetch("server"))
    preloaded = { "threads" => 1, "preload" => true }
    one, two = document.fetch("arms")
    assert_equal [preloaded.merge("workers" => 1), preloaded.merge("workers" => 2)], [one, two].map { |arm| arm["settings"] }
    held = two.fetch("environment").to_h { |set| set.values_at("variable", "holds") }
    assert_equal({ "POWERBAND_SETUP_GC_PROFILER" => "1", "refork_after" => "20,40", "refork_max_unavailable" => "2",
                   "PATH" => another_ruby, "WAIT_MS" => "0" }, held)
  end

  def test_falcon
    skip_without "falcon"
    document = rehearsed("falcon", <<~TOML)
      [[arm]]
      name = "one"
      [[arm]]
      name = "two"
      workers = 2
      gc_profiler = true
      ruby = "#{another_ruby}"
    TOML
    assert_match(/\Afalcon \d/, document.fetch("versions").fetch("server"))
    one, two = document.fetch("arms")
    settings = [one, two].map { |arm| arm["settings"].values_at("workers", "threads", "preload") }
    assert_equal [[1, 1, false], [2, 1, false]], settings
    assert_equal ["1", another_ruby], two.fetch("environment").map { |set| set["holds"] }
    assert_equal 64, document.dig("plan", "connections")
    assert_nil one["time"], "fibers share a thread"
  end

  def test_falcon_whose_application_does_not_load
    skip_without "falcon"
    write_server("falcon", "", app: "broken_boot")
    ended = powerband("compare", "workers=1", "workers=2", "--config", "powerband.toml", "--rehearse", "--runs", runs)
    assert_match(/the server died.*RuntimeError: broken_boot: this application refuses to start/, ended.err)
    assert_nothing_left_running
  end

  # Nothing replaces it: the other process serves on alone. A busy host may reach the number during the warm-up already.
  def test_falcon_of_which_one_process_ends
    skip_without "falcon"
    died = File.join(@dir, "died")
    write_server("falcon", <<~TOML, app: "dies", env: "DIES_AFTER = 700\nDIES_ONCE = #{died.inspect}")
      [hooks]
      before_trial = "rm -f #{died}"
    TOML
    ended = powerband("compare", "workers=2", "workers=3", "--config", "powerband.toml", "--rehearse", "--runs", runs)
    in_window = "a process ended during the trial, and 1 of 2 processes serve; the server's log says why"
    assert_match(/#{in_window}|workers = 2 was asked, the server runs with 1/, ended.err)
    assert_nothing_left_running
  end

  def test_passenger_in_apache
    skip Passenger.forbidden if Passenger.forbidden
    document = rehearsed("passenger", <<~TOML)
      [baseline]
      workers = 2
      [[arm]]
      name = "pool-2"
      [[arm]]
      name = "one-an-app"
      gc_profiler = true
      ruby = "#{another_ruby}"
      [arm.passenger]
      max_instances_per_app = 1
    TOML
    pool, alone = document.fetch("arms")
    assert_operator pool.fetch("pss_bytes"), :>, 20 << 20
    assert_equal({ "POWERBAND_SETUP_GC_PROFILER" => "1", "PassengerMaxInstancesPerApp" => "1", "PATH" => another_ruby },
                 alone.fetch("environment").to_h { |set| set.values_at("variable", "holds") })
    machine = alone.fetch("machine")
    assert_operator machine.fetch("used_bytes") + machine.fetch("free_bytes"), :<=, machine.fetch("total_bytes")
  end

  def test_what_does_not_go_together_is_told_at_once
    write_server("unicorn", <<~TOML)
      tls = true
      [[arm]]
      name = "threads"
      threads = 3
      [arm.passenger]
      min_instances = 2
      [[arm]]
      name = "none"
      workers = 0
    TOML
    ended = powerband("compare", "--config", "powerband.toml")
    assert_refused ended, 2, /nothing stands in front that could speak TLS/, /one request at a time/,
                   /passenger\.min_instances is set, and no Passenger is started/, /workers = 0, and unicorn needs one/
    write_server("thin", "")
    assert_refused powerband("compare", "threads=1", "threads=2", "--config", "powerband.toml"), 2,
                   /server\.kind.*"thin".*puma, unicorn, pitchfork, falcon or passenger/
    write_server("falcon", "")
    assert_refused powerband("compare", "threads=5", "preload=true", "--config", "powerband.toml"), 2,
                   /a process of falcon serves its requests in fibers of one thread/,
                   /Falcon never loads the application before it forks/
    write_server("pitchfork", "[baseline]\npreload = false\n")
    assert_refused powerband("compare", "workers=1", "workers=2", "--config", "powerband.toml"), 2,
                   /Pitchfork always loads the application before it forks/
    assert_refused powerband("compare", "workers=1", "pitchfork.refork_after=false,50", "--config", "powerband.toml"), 2,
                   /pitchfork\.refork_after.*"false,50": no whole numbers/
    assert_no_run_folder
  end

  private

  def rehearsed(kind, rest)
    write_server(kind, rest)
    ended = measured("compare", "--config", "powerband.toml", "--rehearse", "--runs", runs, "--json", within: 180)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_run_document ended.out
    JSON.parse(ended.out)
  end

  # nginx says when a request came, so that the queue before the application is known.
  def assert_queued(document)
    document.fetch("arms").each { |arm| assert_operator arm.fetch("time").fetch("queue_ms"), :>=, 0 }
  end
end
