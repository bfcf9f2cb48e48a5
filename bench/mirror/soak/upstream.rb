# frozen_string_literal: true

require "etc"

# An nginx that answers hello on a port that stays its own, and what can happen to it.
class Upstream
  BLOWS = %i[kill restart freeze cut_off].freeze

  attr_reader :name, :port

  def initialize(folder, name)
    @folder = "#{folder}/#{name}"
    @name = name
    FileUtils.mkdir_p(@folder)
    @port = Servers.free_port
  end

  def start
    spawn_it(@port)
    self
  end

  # Gone at once, connections and all.
  def kill
    @server.stop(:KILL)
    @server = nil
  end

  # As a deploy does it.
  def restart
    @server.stop(:QUIT)
    spawn_it(@port)
  end

  # It holds its connections, and says nothing.
  def freeze
    Process.kill(:STOP, @server.pid)
    @frozen = true
  end

  # Every connection is reset, and new ones are served again.
  def cut_off
    kill
    spawn_it(@port)
  end

  def recover
    Process.kill(:CONT, @server.pid) if @frozen
    @frozen = false
    spawn_it(@port) unless @server
  end

  def stop
    return unless @server

    Process.kill(:CONT, @server.pid) if @frozen
    @server.stop
    @server = nil
  end

  private

  def spawn_it(port)
    temporary = %w[client_body proxy fastcgi uwsgi scgi].map { |what| "#{what}_temp_path #{@folder}/#{what};" }.join(" ")
    File.write("#{@folder}/nginx.conf", <<~NGINX)
      daemon off; master_process off; pid #{@folder}/nginx.pid;
      error_log #{@folder}/error.log crit;
      events { worker_connections 4096; }
      http {
        access_log off; #{temporary}
        server { listen 127.0.0.1:#{port} backlog=4096 reuseport; location / { default_type text/plain; return 200 "hello\\n"; } }
      }
    NGINX
    @server = Servers::Server.new("0-#{Etc.nprocessors - 1}", "nginx", "-p", @folder, "-c", "#{@folder}/nginx.conf", "-e",
                                  "#{@folder}/error.log", port:, log: "#{@folder}/out.log").await
  end
end
