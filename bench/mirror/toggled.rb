# frozen_string_literal: true

require "json"
require "net/http"

# One mirror under a closed loop, whose shadow comes and goes by reload: what it answers a second without it and with it, in
# turns of half a second. One process, one set of connections and neighbouring moments: neither where a process happens to lie
# in memory nor the machine's drift comes between the two.
class Toggled
  WINDOW_S = 0.6
  # Until a new shadow's queue is what it will be.
  SETTLING_S = 0.3
  # What a reload leaves under way ends within this; then the windows without the shadow are truly without it.
  DEADLINE = "1s"

  # `shadow`: its URL, or nil for a reload that changes nothing that matters.
  def initialize(bench, folder, primary, shadow)
    @bench = bench
    @shadow = shadow
    @config = "#{folder}/mirror.toml"
    @status = Servers.free_port
    configure(with: false)
    flags = ["--config", @config, "--status", "127.0.0.1:#{@status}"]
    @server = Servers.powerband(folder, "toggled", bench.proxy_core, bench.binary, primary, flags)
  end

  # Answers a second without it and with it, as often as asked; and the most memory that was taken, in MiB.
  def measure(turns)
    @server.await
    loop_of_requests do
      pairs = Array.new(turns) { [false, true].map { |with| toggle(with:) && rate } }
      return [pairs.map(&:first), pairs.map(&:last), @server.peak_mib]
    end
  ensure
    @server.stop
  end

  private

  def loop_of_requests
    wrk = Tools::Wrk.new.closed("http://127.0.0.1:#{@server.port}/", 3600)
    pid = Process.spawn("taskset", "-c", @bench.machine.generator_core.to_s, *wrk, %i[out err] => File::NULL)
    await("the first answers") { counts["answered"].positive? }
    yield
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  def toggle(with:)
    configure(with:)
    before = sampled
    Process.kill(:HUP, @server.pid)
    if @shadow
      with ? await("the shadow") { sampled > before } : await("the end of the shadow") { gone? }
    end
    sleep SETTLING_S
    true
  end

  def configure(with:)
    File.write(@config, with && @shadow ? "[shadow.a]\nurl = \"#{@shadow}\"\ndeadline = \"#{DEADLINE}\"\n" : "drain = \"#{with ? 31 : 30}s\"\n")
  end

  def rate
    before, began = answered
    sleep WINDOW_S
    after, ended = answered
    (after - before) / (ended - began)
  end

  # And when: in the middle of the asking.
  def answered
    asked = @bench.machine.now
    count = counts["answered"]
    [count, (asked + @bench.machine.now) / 2]
  end

  def counts = JSON.parse(Net::HTTP.get("127.0.0.1", "/status.json", @status))["counts"]
  def shadow = counts["shadows"].first || { "sampled" => 0, "pending" => 0 }
  def sampled = shadow["sampled"]

  # Nothing more comes to it, and what had come has ended.
  def gone?
    before = shadow
    sleep 0.05
    before["pending"].zero? && shadow == before
  end

  def await(what)
    began = @bench.machine.now
    until yield
      raise "bench/mirror: #{what} did not come" if @bench.machine.now - began > 20

      sleep 0.01
    end
  end
end
