# frozen_string_literal: true

require "time"
require_relative "servers"

# Experiments in production: their file, units that draw a certain arm, and Pumas that are drawn.
module Experiments
  include Servers

  SCRAPED = File.expand_path("../apps/scraped", __dir__)

  private

  # Two arms, `today` and `slow`, whose `setting` is a line of its variables.
  def experiment(share: 50, starts: Time.now - 60, lasts: "1h", period: lasts, looks: 2, slice: "5s",
                 guardrails: "errors = '1%'\n", setting: "WAIT_MS = 25")
    file = File.join(@dir, "powerband-experiment-#{starts.to_i}.toml")
    File.write(file, <<~TOML)
      name = "waiting"
      unit = "host"
      starts = #{starts.utc.iso8601}
      lasts = "#{lasts}"
      period = "#{period}"
      looks = #{looks}
      slice = "#{slice}"

      [[arm]]
      name = "today"

      [[arm]]
      name = "slow"
      share = "#{share}%"
      [arm.environment]
      #{setting}

      [guardrails]
      #{guardrails}
    TOML
    file
  end

  def dry_run(file, unit)
    ended = powerband("run", "--experiment", file, "--dry-run", env: { "POWERBAND_UNIT" => unit })
    assert_equal [0, ""], [ended.code, ended.err], ended.to_s
    ended.out
  end

  def arm(said) = said[/ runs (\S+) /, 1]

  def unit_of(file, arm) = units_of(file, arm, 1).first

  # Units that draw this arm. They can be asked once the experiment has begun.
  def units_of(file, arm, count)
    await("the start of the experiment") { dry_run(file, "web-0").include?(" in period ") }
    names = (0..).lazy.map { |number| "web-#{number}" }
    names.select { |unit| arm(dry_run(file, unit)) == arm }.first(count)
  end

  def launch(file, unit, folder, app: SCRAPED, env: {})
    port = free_port
    started = start(PowerbandTest::BINARY, "run", "--experiment", file, "--flight-dir", folder, "--",
                    "puma", "-b", "tcp://127.0.0.1:#{port}", "-t", "3:3", chdir: app, env: { "POWERBAND_UNIT" => unit, **env })
    Serving.new(started, port)
  end

  # The instant that the file names.
  def starts_at(file) = Time.iso8601(File.read(file)[/starts = (\S+)/, 1])

  def drawn_puma(file, unit, folder)
    launch(file, unit, folder).tap { |site| await("Puma to listen", of: site.started) { listens?(site.port) } }
  end
end
