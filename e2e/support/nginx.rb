# frozen_string_literal: true

require "open3"
require_relative "servers"

# An nginx of the test's own, in the foreground and without children: plain on a free port, TLS on another, and a Unix
# socket. `/` answers hello, `/bad` 500.
module Nginx
  include Servers

  NGINX = ["/usr/sbin/nginx", "/usr/bin/nginx"].find { |path| File.executable?(path) }

  Site = Struct.new(:started, :port, :tls_port, :socket, :access_log, :certificate) do
    def url(path = "/") = "http://127.0.0.1:#{port}#{path}"
    def tls_url(path = "/") = "https://localhost:#{tls_port}#{path}"
    def lines = File.readlines(access_log)
  end

  def nginx
    skip "nginx is not installed: script/bootstrap installs it" unless NGINX
    folder = File.join(@dir, "nginx")
    FileUtils.mkdir_p(folder)
    certificate, key = self_signed(folder)
    port, tls_port = free_ports(2)
    started = started_nginx(folder, port, hello(folder, port, tls_port, certificate, key))
    Site.new(started, port, tls_port, File.join(folder, "http.sock"), File.join(folder, "access.log"), certificate)
  end

  # In front of servers on these ports, each in turn or by another method of nginx (`least_conn`); its URL.
  def balancer(ports, method: nil)
    skip "nginx is not installed: script/bootstrap installs it" unless NGINX
    port = free_port
    servers = [*method, *ports.map { |of| "server 127.0.0.1:#{of}" }].map { |line| "#{line};" }.join(" ")
    started_nginx(File.join(@dir, "balancer"), port, <<~CONF)
      access_log off;
      upstream pods { #{servers} }
      server { listen 127.0.0.1:#{port}; location / { proxy_pass http://pods; } }
    CONF
    "http://127.0.0.1:#{port}/"
  end

  private

  def self_signed(folder)
    certificate, key = %w[cert key].map { |name| File.join(folder, "#{name}.pem") }
    said, status = Open3.capture2e("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                   "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                                   "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE",
                                   "-keyout", key, "-out", certificate)
    assert status.success?, said
    [certificate, key]
  end

  # An nginx with this `http` section, once it listens.
  def started_nginx(folder, port, http)
    FileUtils.mkdir_p(folder)
    temporary = %w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{folder}/tmp;" }.join(" ")
    file = File.join(folder, "nginx.conf")
    File.write(file, <<~CONF)
      daemon off; master_process off; pid #{folder}/nginx.pid;
      events { worker_connections 512; }
      http { #{temporary} #{http} }
    CONF
    started = start(NGINX, "-p", folder, "-c", file, "-e", File.join(folder, "error.log"))
    await("nginx to listen", of: started) { listens?(port) }
    started
  end

  def hello(folder, port, tls_port, certificate, key)
    <<~CONF
      access_log #{folder}/access.log combined;
      server {
        listen 127.0.0.1:#{port}; listen unix:#{folder}/http.sock;
        listen 127.0.0.1:#{tls_port} ssl; ssl_certificate #{certificate}; ssl_certificate_key #{key};
        location / { return 200 "hello\\n"; }
        location /bad { return 500 "bad\\n"; }
      }
    CONF
  end
end
