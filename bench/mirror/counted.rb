# frozen_string_literal: true

require "json"
require "net/http"

# A mirror under a closed loop that can be held and let go, and how much it answers a second by its own count: so
# that neighbouring moments can be compared, which no generator that is started for each of them could do.
class Counted
  WINDOW_S = 0.6
  # After a change, until its loop is in step again.
  SETTLING_S = 0.2
  PATIENCE_S = 20

  def initialize(bench, folder, name, primary, flags)
    @bench = bench
    @name = name
    @status = Servers.free_port
    flags += ["--status", "127.0.0.1:#{@status}"]
    @server = Servers.powerband(folder, name, bench.proxy_core, bench.binary, primary, flags)
  end

  # Returns once it answers.
  def begin
    @server.await
    wrk = Tools::Wrk.new.closed("http://127.0.0.1:#{@server.port}/", 3600)
    @loop = Process.spawn("taskset", "-c", @bench.machine.generator_core.to_s, *wrk, %i[out err] => File::NULL)
    await("the first answers") { counts["answered"].positive? }
  end

  def hold = Process.kill(:STOP, @loop)
  def let_go = Process.kill(:CONT, @loop)
  def reload = Process.kill(:HUP, @server.pid)
  def peak_mib = @server.peak_mib

  # Answers a second from now on.
  def rate
    sleep SETTLING_S
    before, began = answered
    sleep WINDOW_S
    after, ended = answered
    (after - before) / (ended - began)
  end

  def counts = JSON.parse(Net::HTTP.get("127.0.0.1", "/status.json", @status))["counts"]

  def await(what)
    began = @bench.machine.now
    until yield
      raise "bench/mirror: #{@name}: #{what} did not come" if @bench.machine.now - began > PATIENCE_S

      sleep 0.01
    end
  end

  def stop
    if @loop
      Process.kill(:KILL, @loop)
      Process.wait(@loop)
    end
    @server.stop
  end

  private

  # And when: in the middle of the asking.
  def answered
    asked = @bench.machine.now
    count = counts["answered"]
    [count, (asked + @bench.machine.now) / 2]
  end
end
