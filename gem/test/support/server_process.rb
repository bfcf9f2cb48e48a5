# frozen_string_literal: true

require "net/http"
require "socket"
require "support/processes"

# A real server in a process of its own, awaited by its states and always stopped.
class ServerProcess
  APPS = File.expand_path("../apps", __dir__)
  PATIENCE = 60 # seconds until a state that never comes fails the test
  ORDERLY_END = 10 # seconds

  attr_reader :pid, :port, :root

  # Yields a server that answers and returns what its flight files hold after its end.
  def self.run(*arguments, **options)
    Dir.mktmpdir("powerband-server-") do |root|
      server = new(root, arguments, **options)
      server.await("an answer") { server.get("/boot") }
      yield server
      server.stop
      @last_end_orderly = server.orderly?
      return server.flights
    ensure
      server&.kill
    end
  end

  class << self
    # Whether the server of the last `run` ended by itself.
    attr_reader :last_end_orderly

    # Why it cannot be started, where its gem is not there.
    def missing
      name = self::COMMAND.first
      "the gem #{name} is not installed" if Gem::Specification.find_all_by_name(name).empty?
    end
  end

  def initialize(root, arguments, command: self.class::COMMAND, env: nil, app: "hello.ru", chdir: APPS)
    @root = root
    @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    @log = File.join(root, "log")
    @answered = 0
    environment = (env || {}).then { |extra| Processes.injected(File.join(root, "flight")).merge(extra) }
    @pid = spawn(environment, *command, *arguments, *listen, *app,
                 chdir:, out: @log, err: %i[child out], pgroup: true)
  end

  def log
    File.read(@log)
  end

  def get(path, headers = {})
    body = Net::HTTP.start("127.0.0.1", port, open_timeout: 5, read_timeout: 20) { |http| http.get(path, headers).body }
    @answered += 1
    body
  rescue SystemCallError
    nil
  end

  # The user whose files they are.
  def uid
    Process.uid
  end

  def flights
    FlightReader.all(File.join(root, "flight"), uid:)
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

    await_records
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

  # A client has its answer before the server has put the request on record, and some servers end at once on a signal.
  # Not every request is on record: those of a worker that was killed are not, nor those that no agent saw.
  def await_records
    ends = now + 2
    sleep 0.02 while now < ends && flights.any? && flights.sum { |flight| flight[:written] } < @answered
  end

  private

  # The master may be gone before the last of its workers is.
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

class PumaServer < ServerProcess
  COMMAND = ["puma"].freeze
  # A cluster as Puma has it up to version 6; from 7 on it preloads with two workers or more.
  NO_PRELOAD = %w[-C no_preload.rb].freeze

  # rackup hands the address over by options of its own.
  def listen
    @rackup ? ["-o", "127.0.0.1", "-p", port.to_s] : ["-b", "tcp://127.0.0.1:#{port}"]
  end

  def initialize(*, command: COMMAND, **)
    @rackup = command == ["rackup"]
    super
  end
end

class UnicornServer < ServerProcess
  COMMAND = ["unicorn"].freeze

  def listen
    ["-l", "127.0.0.1:#{port}"]
  end
end

# Debian has no package of it.
class PitchforkServer < UnicornServer
  COMMAND = ["pitchfork"].freeze
end

# Processes with a fiber for each request. Debian has no package of it.
class FalconServer < ServerProcess
  COMMAND = %w[falcon serve].freeze

  def initialize(*, app:, **)
    super(*, app: ["--config", app], **)
  end

  def listen
    ["--bind", "http://127.0.0.1:#{port}"]
  end
end
