# frozen_string_literal: true

require "fileutils"
require "net/http"
require "socket"
require "tmpdir"

# What a part of the benchmark runs: each in a separate folder and on a separate core, ended by its process id.
module Servers
  module_function

  def free_port
    TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  end

  def listens?(port)
    TCPSocket.new("127.0.0.1", port).close
    true
  rescue SystemCallError
    false
  end

  # A process on a core.
  class Server
    attr_reader :port, :pid

    def initialize(core, *command, port:, log:)
      @port = port
      words = ["taskset", "-c", core.to_s, *command]
      @pid = Process.spawn(*words.map(&:to_s), %i[out err] => log, in: File::NULL)
      @log = log
    end

    def await
      500.times do
        return self if Servers.listens?(port)
        raise "#{@log}: #{File.read(@log)}" if Process.wait(pid, Process::WNOHANG)

        sleep 0.02
      end
      raise "nobody listens on #{port}: #{File.read(@log)}"
    end

    # Most resident memory so far, in MiB.
    def peak_mib
      Integer(File.read("/proc/#{pid}/status")[/^VmHWM:\s+(\d+)/, 1]) / 1024.0
    end

    def stop(signal = :TERM)
      Process.kill(signal, pid)
      300.times do
        return if Process.wait(pid, Process::WNOHANG)

        sleep 0.02
      end
      Process.kill(:KILL, pid)
      Process.wait(pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end
  end

  # An nginx without children, on one core.
  def nginx(folder, name, core, server, port: free_port)
    dir = "#{folder}/#{name}"
    FileUtils.mkdir_p(dir)
    temporary = %w[client_body proxy fastcgi uwsgi scgi].map { |what| "#{what}_temp_path #{dir}/#{what};" }.join(" ")
    File.write("#{dir}/nginx.conf", <<~NGINX)
      daemon off; master_process off; pid #{dir}/nginx.pid; worker_rlimit_nofile 16384;
      error_log #{dir}/error.log crit;
      events { worker_connections 8192; }
      http {
        access_log off; #{temporary}
        keepalive_timeout 1h; keepalive_time 1h; keepalive_requests 1000000000;
        #{server.call(port)}
      }
    NGINX
    Server.new(core, "nginx", "-p", dir, "-c", "#{dir}/nginx.conf", "-e", "#{dir}/error.log", port:, log: "#{dir}/out.log")
  end

  # The application, or a shadow that is well: a short answer, at once.
  def application(folder, name, core)
    nginx(folder, name, core, lambda { |port|
      "server { listen 127.0.0.1:#{port} backlog=4096; location / { default_type text/plain; " \
      "return 200 \"Powerband measures, and this is the answer.\\n\"; } }"
    })
  end

  # nginx as a proxy, with a shadow where one is given.
  def nginx_proxy(folder, name, core, primary, shadow = nil)
    passing = "proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_set_header Host $http_host;"
    mirror = shadow ? "mirror /mirrored; mirror_request_body off;" : ""
    shadowed = shadow && "upstream shadow { server 127.0.0.1:#{shadow}; keepalive 256; }"
    location = shadow && "location = /mirrored { internal; #{passing} proxy_pass http://shadow$request_uri; }"
    nginx(folder, name, core, lambda { |port|
      <<~NGINX
        upstream primary { server 127.0.0.1:#{primary}; keepalive 256; }
        #{shadowed}
        server {
          listen 127.0.0.1:#{port} backlog=4096;
          location / { #{mirror} #{passing} proxy_pass http://primary; }
          #{location}
        }
      NGINX
    })
  end

  # Powerband's, with these flags.
  def powerband(folder, name, core, binary, primary, flags)
    port = free_port
    Server.new(core, binary, "mirror", "--listen", "127.0.0.1:#{port}", "--primary", "http://127.0.0.1:#{primary}", "--quiet",
               *flags, port:, log: "#{folder}/#{name}.log")
  end

  # A shadow that is not well. It runs when nobody else on its core wants to: what it does costs nothing of the application's
  # time, which is not what is measured. Niceness is not enough, with which it still gets slices of some milliseconds.
  def unwell(folder, kind, core)
    port = free_port
    Server.new(core, "chrt", "--idle", "0", "ruby", "#{__dir__}/unwell.rb", kind, port, port:, log: "#{folder}/#{kind}.log")
  end
end
