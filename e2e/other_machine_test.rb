# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/other_machine"

# What the run's processes connect to, whatever variables and files say: a real PostgreSQL at an address that is not this
# machine's, which the application names in its code alone.
class OtherMachineTest < PowerbandTest
  parallelize_me!

  def test_connections_to_another_machine_end_the_run_unless_allowed
    lacks = OtherMachine.lacks
    skip lacks if lacks
    with_postgres do |machine|
      at = "#{machine.address}:#{OtherMachine::PORT}"
      application(machine.address)
      as_it_boots(at)
      under_load(at)
      as_it_is_prepared(at)
      allowed(at)
    end
  end

  private

  def as_it_boots(at)
    ended = compared("--env", "CONNECT=boot")
    assert_refused ended, 2, /process \d+ \(puma.*\) has a connection to #{at}, which is not this machine/, /--allow-remote #{at}/
    refute_path_exists asked, "no load was sent"
    assert_no_run_folder
  end

  def under_load(at)
    ended = compared("--env", "CONNECT=request")
    assert_refused ended, 2, /\(puma.*\) has a connection to #{at}/
    assert_path_exists asked
    FileUtils.rm(asked)
  end

  def as_it_is_prepared(at)
    configure("[app]\nprepare = \"ruby prepare.rb\"\n")
    ended = compared
    assert_refused ended, 2, /process \d+ \(ruby\) has a connection to #{at}/
    configure
  end

  def allowed(at)
    ended = measured(*comparison, "--env", "CONNECT=boot", "--allow-remote", at)
    assert_equal 0, ended.code, ended.to_s
    assert_path_exists asked
  end

  def compared(*words)
    FileUtils.rm_rf(runs)
    powerband(*comparison, *words)
  end

  def comparison
    ["compare", "threads=1", "threads=2", "--rehearse", "--app", app, "--path", "/work", "--runs", runs]
  end

  def app = File.join(@dir, "app")
  def asked = File.join(app, "asked")

  # The path of the load is asked by the load alone.
  def configure(more = "")
    File.write(File.join(app, "powerband.toml"), "#{more}[server]\nready_path = \"/\"\n")
  end

  def application(address)
    FileUtils.mkdir_p(app)
    connected = "PG.connect(host: #{address.split('.')}.join('.'), port: #{OtherMachine::PORT}, user: 'shop', dbname: 'postgres')"
    configure
    File.write(File.join(app, "config.ru"), <<~RUBY)
      require "pg"
      database = #{connected} if ENV["CONNECT"] == "boot"
      run(lambda do |env|
        if env["PATH_INFO"] == "/work"
          File.write("asked", "x")
          database ||= #{connected}
        end
        [200, {}, ["fine"]]
      end)
    RUBY
    File.write(File.join(app, "prepare.rb"), "require 'pg'\n#{connected}.exec('select pg_sleep(60)')\n")
  end

  def with_postgres
    machine = OtherMachine.new
    refused = machine.connect
    skip "no network namespace: #{refused}" if refused
    made = finish(start(*machine.make))
    assert_predicate made.status, :success?, made.to_s
    # It is not what a run leaves.
    database = start(*machine.serve, env: { LeftRunning::VARIABLE => nil })
    await("PostgreSQL", of: database) { machine.answers? }
    yield machine
    database.signal(:INT)
    finish(database)
  ensure
    machine.remove
  end
end
