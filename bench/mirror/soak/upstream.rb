# frozen_string_literal: true

require "etc"

# An nginx that answers hello on a port that stays its own, and what can happen to it.
class Upstream
  CORES = "0-#{Etc.nprocessors - 1}".freeze
  BLOWS = %i[kill restart freeze cut_off].freeze

  attr_reader :name, :port

  def initialize(folder, name)
    @folder = folder
    @name = name
    @port = Servers.free_port
  end

  def start
    listen
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
    listen
  end

  # It holds its connections, and says nothing.
  def freeze
    Process.kill(:STOP, @server.pid)
    @frozen = true
  end

  # Every connection is reset, and new ones are served again.
  def cut_off
    kill
    listen
  end

  def recover
    Process.kill(:CONT, @server.pid) if @frozen
    @frozen = false
    listen unless @server
  end

  def stop
    return unless @server

    Process.kill(:CONT, @server.pid) if @frozen
    @server.stop
    @server = nil
  end

  private

  def listen
    server = lambda { |port|
      "server { listen 127.0.0.1:#{port} backlog=4096 reuseport; " \
        "location / { default_type text/plain; return 200 \"hello\\n\"; } }"
    }
    @server = Servers.nginx(@folder, name, CORES, server, port:).await
  end
end
