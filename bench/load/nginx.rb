# frozen_string_literal: true

require "socket"
require "tmpdir"
require "net/http"

# The server under load: nginx with one worker, pinned to one core, that gives every request the same short answer.
class Nginx
  ANSWER = "Powerband measures, and this is the answer.\\n"

  attr_reader :port, :worker

  def self.version
    `nginx -v 2>&1`[%r{nginx/\S+}]
  end

  def initialize(core)
    @folder = Dir.mktmpdir("bench-load")
    @port = free_port
    File.write("#{@folder}/nginx.conf", configuration)
    command = ["taskset", "-c", core.to_s, "nginx", "-p", @folder, "-c", "#{@folder}/nginx.conf", "-e", "#{@folder}/error.log"]
    @master = Process.spawn(*command, %i[out err] => "#{@folder}/output.log")
    @worker = await("nginx's worker") { answers? && File.read("/proc/#{@master}/task/#{@master}/children").split.first }.to_i
  end

  def url
    "http://127.0.0.1:#{port}/"
  end

  # Requests that nginx has answered since it started, this one included.
  def requests
    get("/status")[/^\s*\d+ \d+ (\d+)/, 1].to_i
  end

  def stop
    Process.kill(:CONT, worker)
    Process.kill(:TERM, @master)
    Process.wait(@master)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  ensure
    FileUtils.remove_entry(@folder)
  end

  private

  def configuration
    <<~NGINX
      daemon off;
      worker_processes 1;
      worker_rlimit_nofile 16384;
      pid #{@folder}/nginx.pid;
      error_log #{@folder}/error.log error;
      events { worker_connections 8192; }
      http {
        access_log off;
        # Neither a lull nor a long run may close a connection: reconnecting is no part of what is compared.
        keepalive_timeout 1h;
        keepalive_time 1h;
        keepalive_requests 1000000000;
        client_body_temp_path #{@folder}/body;
        proxy_temp_path #{@folder}/proxy;
        fastcgi_temp_path #{@folder}/fastcgi;
        uwsgi_temp_path #{@folder}/uwsgi;
        scgi_temp_path #{@folder}/scgi;
        server {
          listen 127.0.0.1:#{port} backlog=4096;
          location = / { default_type text/plain; return 200 "#{ANSWER}"; }
          location = /status { stub_status; }
        }
      }
    NGINX
  end

  def free_port
    TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  end

  def get(path)
    Net::HTTP.get("127.0.0.1", path, port)
  end

  def answers?
    get("/").start_with?("Powerband")
  rescue SystemCallError
    ended = Process.wait(@master, Process::WNOHANG)
    raise "nginx ended: #{%w[output error].map { |log| File.read("#{@folder}/#{log}.log") }.join}" if ended

    false
  end

  def await(what, within: 10)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + within
    until (found = yield)
      raise "#{what} did not come within #{within} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.02
    end
    found
  end
end
