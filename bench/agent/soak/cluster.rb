# frozen_string_literal: true

require "socket"
require "#{ROOT}/gem/test/support/flight_reader"

# The Puma cluster of the soak, what is done to it, and the flight files that its processes leave. Whatever is done, the
# server is waited for until all its workers serve again, by their files.
class Cluster
  WORKERS = 3
  THREADS = 3
  PATIENCE_S = 120
  # Puma re-forks once the first worker has served so many requests.
  NEVER_BY_ITSELF = "--fork-worker=1000000000"
  APP = File.expand_path("../soak.ru", __dir__)

  attr_reader :workers

  def initialize(folder)
    @folder = folder
    @log = File.join(folder, "log")
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @dead = {}
  end

  def url
    "http://127.0.0.1:#{@port}/soak"
  end

  # Short rings, because hundreds of processes come and go.
  def start(environment = { "POWERBAND_KEEP" => "off", "POWERBAND_KEEP_SIZE" => "off" }, workers: WORKERS)
    @workers = workers
    environment = { "RUBYLIB" => "#{ROOT}/gem/lib", "RUBYOPT" => "-rpowerband/inject", "BUNDLE_GEMFILE" => nil,
                    "POWERBAND_DIR" => File.join(@folder, "flight"), "POWERBAND_RING" => "1024" }.merge(environment)
    @pid = spawn(environment, "puma", "-w", workers.to_s, "-t", "#{THREADS}:#{THREADS}", NEVER_BY_ITSELF, "-e", "production",
                 "-b", "tcp://127.0.0.1:#{@port}", APP, out: [@log, "a"], err: %i[child out], pgroup: true)
    await("the workers") { live.size == workers }
  end

  def stop
    Process.kill("TERM", @pid)
    await("the server's end") { Process.wait(@pid, Process::WNOHANG) }
    @pid = nil
    await("the workers' end") { live.empty? }
  end

  # Whatever is left of the process group, which this class made.
  def kill
    Process.kill("KILL", -@pid) if @pid
  rescue Errno::ESRCH
    nil
  end

  def kill_a_worker(index = rand(1...workers))
    strike("KILL", index)
  end

  def kill_the_first_worker
    strike("KILL", 0)
  end

  def end_a_worker
    strike("TERM", rand(workers))
  end

  def phased_restart
    replaced("USR1") { true }
  end

  def restart_by_exec
    replaced("USR2") { true }
  end

  # The first worker stays and forks the others anew.
  def refork
    replaced("URG") { |flight| flight[:worker_index].positive? }
  end

  # What the header of each process that serves says.
  def live
    files.filter_map do |path|
      next if @dead[path] || (@dead[path] = !same_process?(path))

      flight = FlightReader.new(File.binread(path, 4096))
      flight if flight[:state] == 1
    rescue ArgumentError, Errno::ENOENT
      nil # just being made
    end
  end

  def files
    Dir[File.join(@folder, "flight", Process.uid.to_s, "*.flight")]
  end

  def read_all
    files.map { |path| FlightReader.new(File.binread(path)) }
  end

  def dead_bytes
    files.reject { |path| same_process?(path) }.sum { |path| File.size?(path) || 0 }
  end

  # Puma's own account of the workers that it had.
  def booted
    File.read(@log).scan(/Worker \d+ \(PID: (\d+)\) booted/).flatten.map(&:to_i).uniq
  end

  def said
    File.readlines(@log).grep(/powerband/).grep_v(/^\*/)
  end

  def crashes
    File.readlines(@log).grep(/\[BUG\]|SIGSEGV|SIGBUS|Segmentation fault|Fatal/i)
  end

  # The block's first answer that is true.
  def await(what)
    ends = now + PATIENCE_S
    until (found = yield)
      raise "#{what} never came; the server said:\n#{File.readlines(@log).last(40).join}" if now > ends

      sleep 0.05
    end
    found
  end

  # What the block answers once it has answered the same for half a second.
  def settled
    found = yield
    same = 0
    while same < 10
      sleep 0.05
      value = yield
      same = value == found ? same + 1 : 0
      found = value
    end
    found
  end

  private

  def same_process?(path)
    pid, start = File.basename(path).split("-")
    File.read("/proc/#{pid}/stat").rpartition(")").last.split.then { |fields| fields[19] == start && fields[0] != "Z" }
  rescue Errno::ENOENT, Errno::ESRCH
    false
  end

  def strike(signal, index)
    victim = live.find { |flight| flight[:worker_index] == index }[:pid]
    Process.kill(signal, victim)
    await("worker #{index} in place of #{victim}") { whole? && live.none? { |flight| flight[:pid] == victim } }
  end

  def replaced(signal, &)
    old = live.select(&).map { |flight| flight[:pid] }
    Process.kill(signal, @pid)
    await("new workers after #{signal}") { whole? && live.none? { |flight| old.include?(flight[:pid]) } }
  end

  def whole?
    live.map { |flight| flight[:worker_index] }.sort == (0...workers).to_a
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
