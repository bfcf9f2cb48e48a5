# frozen_string_literal: true

require "etc"
require "json"
require "net/http"
require "open3"
require "socket"

# What is served: where, with which environment and arguments, what is asked of it, a file that its server loads first, and
# the paths that are asked for.
Site = Struct.new(:name, :dir, :env, :threads, :ask, :ready, :preload, :paths, keyword_init: true)

# A process that serves a site on a free port; and Powerband's own generator, which saturates it with two connections a
# thread.
class Driven
  TICKS = Float(Etc.sysconf(Etc::SC_CLK_TCK))

  def self.free_port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }

  # What it says goes to the file `log`.
  def initialize(bench, site, log:, port: Driven.free_port, pid: nil)
    @bench = bench
    @site = site
    @log = log
    @port = port
    @pid = pid
  end

  def await
    600.times do
      raise "puma ended: #{File.read(@log)}" if ended?
      return if Net::HTTP.get_response("127.0.0.1", @site.ready, @port).is_a?(Net::HTTPSuccess)
    rescue SystemCallError
      sleep 0.1
    end
    raise "#{@site.name} does not answer"
  end

  # CPU time of the whole process so far, in seconds, to the kernel's tick.
  def cpu_s
    utime, stime = File.read("/proc/#{@pid}/stat").rpartition(")").last.split.values_at(11, 12)
    (Integer(utime) + Integer(stime)) / TICKS
  end

  # All its threads on one processor.
  def pin(core)
    said, status = Open3.capture2e("taskset", "-a", "-c", "-p", core.to_s, @pid.to_s)
    raise "taskset: #{said}" unless status.success?
  end

  # Requests answered, and the seconds that it took, over so long (["--duration", "3s"]) or so many (["-n", "1000"]).
  def load(*bound, clients: 2 * @site.threads)
    said = "#{@bench.folder}/load-#{@port}.log"
    output, = Open3.capture2(@bench.powerband, "load", "http://127.0.0.1:#{@port}", *@site.ask, "--keep-alive", "-c",
                             clients.to_s, *bound, "--json", "--quiet", err: said)
    raise "powerband load said nothing: #{File.read(said)}" if output.empty?

    document = JSON.parse(output)
    counts = document["counts"]
    raise "#{@site.name}: #{counts}" unless counts["answered"].positive?

    [counts["answered"], document["window_s"]]
  end

  private

  def ended? = Process.wait(@pid, Process::WNOHANG)
end

# A Puma that serves a site under one arm, under a tool such as valgrind where one is given.
class Served < Driven
  def initialize(bench, site, arm, under: [])
    super(bench, site, log: "#{bench.folder}/puma.log")
    puma = [*under, "ruby", "-S", "puma", "-e", "production", "-w", "0", "-t", "#{site.threads}:#{site.threads}"]
    @pid = Process.spawn(environment(arm), *puma, "-b", "tcp://127.0.0.1:#{@port}", chdir: site.dir, out: File::NULL, err: @log)
  end

  # What the block makes of it counts, under callgrind.
  def counting
    count("on")
    yield
    count("off")
  end

  # Puma now and then hangs as it ends, with and without us.
  def stop
    Process.kill(:TERM, @pid)
    100.times do
      return if Process.wait(@pid, Process::WNOHANG)

      sleep 0.1
    end
    Process.kill(:KILL, @pid)
    Process.wait(@pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  private

  def count(switch)
    said, status = Open3.capture2e("callgrind_control", "-i", switch, @pid.to_s)
    raise "callgrind_control: #{said}" unless status.success?
  end

  def environment(arm)
    loaded = [("powerband/inject" if arm == "powerband"), @site.preload].compact
    @bench.environment(arm).merge(@site.env).merge("RUBYOPT" => loaded.map { |file| "-r#{file}" }.join(" "))
  end
end
