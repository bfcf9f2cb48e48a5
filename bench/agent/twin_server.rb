# frozen_string_literal: true

# Loads the Rack application of the folder that it is started in, once, and serves it from two processes forked from that:
# `ruby twin_server.rb THREADS FIRST SECOND PATH...`, where FIRST and SECOND are PORT, or PORT:AGENT with the file that
# injects the agent. The children's process ids go to descriptor 3. All three end when standard input does, so that they
# outlive nobody.

require "puma"
require "puma/launcher"
require "puma/configuration"
require "rack"
require "rack/mock"

# What the twins have in common, to the byte: where everything lies in memory, the hash seed, the compiled templates.
class TwinServer
  GRACE_S = 10

  def initialize(threads, paths)
    @threads = threads
    @paths = paths
  end

  # Asked for every page, so that what an application puts off until it is needed is there.
  def boot
    @app, = Rack::Builder.parse_file("config.ru")
    2.times { @paths.each { |path| ask(path) } }
    # No connection to a database may be in two processes.
    ActiveRecord::Base.connection_handler.clear_all_connections!(:all) if defined?(ActiveRecord::Base)
    Process.respond_to?(:warmup) ? Process.warmup : GC.start
  end

  def fork_one(place)
    port, agent = place.split(":", 2)
    fork do
      end_with_standard_input
      # The agent comes as it would with `ruby -r`, but now: the other child has never heard of it.
      require agent if agent
      Puma::Launcher.new(configuration(port), log_writer: Puma::LogWriter.stdio).run
    end
  end

  private

  def ask(path)
    status = Rack::MockRequest.new(@app).get("http://127.0.0.1#{path}").status
    abort "twin_server: #{path}: status #{status}" unless status == 200
  end

  def configuration(port)
    Puma::Configuration.new({ config_files: ["-"] }) do |user|
      user.environment "production"
      user.threads @threads, @threads
      user.bind "tcp://127.0.0.1:#{port}"
      user.app @app
    end
  end

  # Puma now and then hangs as it ends, with and without us.
  def end_with_standard_input
    Thread.new do
      $stdin.read
      Process.kill(:TERM, Process.pid)
      sleep GRACE_S
      exit!(1)
    end
  end
end

threads, first, second, *paths = ARGV
server = TwinServer.new(Integer(threads), paths)
server.boot
pids = [first, second].map { |place| server.fork_one(place) }
IO.for_fd(3, "w").tap { |out| out.puts(pids.join(" ")) }.close
Process.waitall
