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
    socket = File.join(folder, "http.sock")
    log = File.join(folder, "access.log")
    File.write(File.join(folder, "nginx.conf"), configuration(folder, port, tls_port, certificate, key))
    started = start(NGINX, "-p", folder, "-c", File.join(folder, "nginx.conf"), "-e", File.join(folder, "error.log"))
    await("nginx to listen", of: started) { listens?(port) }
    Site.new(started, port, tls_port, socket, log, certificate)
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

  def configuration(folder, port, tls_port, certificate, key)
    temporary = %w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{folder}/tmp;" }.join(" ")
    <<~CONF
      daemon off; master_process off; pid #{folder}/nginx.pid;
      events { worker_connections 512; }
      http {
        access_log #{folder}/access.log combined; #{temporary}
        server {
          listen 127.0.0.1:#{port}; listen unix:#{folder}/http.sock;
          listen 127.0.0.1:#{tls_port} ssl; ssl_certificate #{certificate}; ssl_certificate_key #{key};
          location / { return 200 "hello\\n"; }
          location /bad { return 500 "bad\\n"; }
        }
      }
    CONF
  end
end
