# frozen_string_literal: true

require_relative "support/powerband"

# Trials of a Puma whose worker 0 forks the others, and again after so many of its requests: `fork_worker`. Each worker answers
# about 25 requests a second, so that the refork and the death are due in the window.
class PumaReforkTest < PowerbandTest
  parallelize_me!

  def test_a_refork_in_the_window_fails_no_trial
    write("io", reforks_after: 40)
    ended = compared("4s")
    assert_equal 0, ended.code, ended.to_s
    assert_equal ["ok"], JSON.parse(ended.out).fetch("trials").map { |trial| trial.fetch("status") }.uniq
    logs = Dir[File.join(runs, "*/trials/*/server.log")].map { |path| File.read(path) }
    assert_operator logs.size, :>=, 3
    logs.each { |log| assert_match(/Worker 1 .* phase: 1$/, log) }
  end

  # A busy host may reach the number during a long warm-up, but not in each trial.
  def test_a_worker_that_dies_in_the_window_fails_its_trial
    died = File.join(@dir, "died")
    write("dies", reforks_after: 1_000_000, env: "DIES_AFTER = 120\nDIES_ONCE = #{died.inspect}", hook: "rm -f #{died}")
    assert_match(/failed: a worker process ended and was replaced during the window/, compared("8s").err)
    assert_nothing_left_running
  end

  private

  def compared(window)
    measured("compare", "threads=1,workers=2", "threads=1,workers=3", "--config", "powerband.toml", "--rehearse",
             "--window", window, "--runs", runs, "--json", within: 180)
  end

  def write(app, reforks_after:, env: "", hook: "true")
    configuration = File.join(@dir, "puma.rb")
    File.write(configuration, "fork_worker #{reforks_after}\nworker_check_interval 1\n")
    write_server("puma", <<~TOML, app: app, env: env)
      config = "#{configuration}"
      [hooks]
      before_trial = "#{hook}"
    TOML
  end
end
