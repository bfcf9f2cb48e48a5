# frozen_string_literal: true

require "net/http"
require "socket"
require "support/processes"

# A real Puma in a process of its own, awaited by its states and always stopped.
class PumaServer
  APPS = File.expand_path("../apps", __dir__)
  PATIENCE = 60 # seconds until a state that never comes fails the test
  ORDERLY_END = 10 # seconds

  attr_reader :pid, :port, :root

  # Yields a server that answers and returns what its flight files hold after its end.
  def self.run(*arguments, **options)
    Dir.mktmpdir("powerband-puma-") do |root|
      server = new(root, arguments, **options)
      server.await("an answer") { server.get("/boot") }
      yield server
      server.stop
      @last_end_orderly = server.orderly?
      return FlightReader.all(File.join(root, "flight"))
    ensure
      server&.kill
    end
  end

  class << self
    # Whether the server of the last `run` ended by itself.
    attr_reader :last_end_orderly
  end

  def initialize(root, arguments, command: ["puma"], env: nil, app: "hello.ru", chdir: APPS)
    @root = root
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @log = File.join(root, "log")
    environment = (env || {}).then { |extra| Processes.injected(File.join(root, "flight")).merge(extra) }
    @pid = spawn(environment, *command, *arguments, "-b", "tcp://127.0.0.1:#{port}", *app,
                 chdir:, out: @log, err: %i[child out], pgroup: true)
  end

  def log
    File.read(@log)
  end

  def get(path, headers = {})
    Net::HTTP.start("127.0.0.1", port, open_timeout: 5, read_timeout: 20) { |http| http.get(path, headers).body }
  rescue SystemCallError
    nil
  end

  def flights
    FlightReader.all(File.join(root, "flight"))
  rescue ArgumentError, Errno::ENOENT
    []
  end

  def await(what)
    ends = now + PATIENCE
    until (value = yield)
      raise "#{what} never came; the server said:\n#{log}" if now > ends || exited?

      sleep 0.02
    end
    value
  end

  # Puma 6.6, without the agent too, sometimes hangs as it ends (in 5 of 100 runs that were counted). Then it is
  # killed, and its files are those of processes that did not end in good order.
  def stop
    return unless @pid

    Process.kill("TERM", @pid)
    Timeout.timeout(ORDERLY_END) { Process.wait(@pid) }
    @pid = nil
    await_end_of_workers
    @orderly = true
  rescue Timeout::Error
    kill
    await_end_of_workers
  end

  def orderly?
    @orderly
  end

  # The whole process group, which this class made.
  def kill
    return unless @pid

    Process.kill("KILL", -@pid)
    Process.wait(@pid)
  rescue SystemCallError
    nil
  ensure
    @pid = nil
  end

  private

  # Puma's master may be gone before the last of its workers is.
  def await_end_of_workers
    ends = now + PATIENCE
    sleep 0.02 while now < ends && flights.any? { |flight| File.exist?("/proc/#{flight[:pid]}") }
  end

  def exited?
    Process.wait(@pid, Process::WNOHANG).tap { |gone| @pid = nil if gone }
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
