# frozen_string_literal: true

require "socket"
require_relative "support/nginx"
require_relative "support/powerband"
require_relative "support/servers"

# What an application behind `powerband mirror` knows of its clients: real Puma and nginx as primaries, curl as the proxy in
# front that speaks the PROXY protocol.
class MirrorAddressTest < PowerbandTest
  parallelize_me!

  include Nginx

  FORGED = {
    "X_Powerband_Shadow" => "me", "X-Forwarded-For" => "203.0.113.9", "X_Forwarded_For" => "203.0.113.9",
    "X-Real-IP" => "203.0.113.9", "Connection" => "x-forwarded-for"
  }.freeze

  def test_a_client_is_neither_another_client_nor_a_shadow
    primary = puma(app("clients"))
    mirror = mirror(primary, "--forwarded", "replace")
    expected = {
      "REMOTE_ADDR" => "127.0.0.1", "HTTP_X_FORWARDED_FOR" => "127.0.0.2", "HTTP_X_FORWARDED_PROTO" => "http",
      "HTTP_X_FORWARDED_HOST" => "shop.test", "HTTP_FORWARDED" => "for=127.0.0.2;proto=http;host=shop.test"
    }
    assert_equal expected, ask(mirror, FORGED)
    refused = raw(mirror, "GET / HTTP/1.1\r\nHost: shop.test\r\nContent_Length: 3\r\n\r\n")
    assert_match(%r{\AHTTP/1.1 400 .*reads as Content-Length}m, refused)
  end

  def test_what_a_proxy_in_front_says_is_kept_and_added_to
    mirror = mirror(puma(app("clients")), "--forwarded", "append")
    seen = ask(mirror, { "X-Forwarded-For" => "192.0.2.7", "X-Forwarded-Proto" => "https", "X_Forwarded_For" => "203.0.113.9" })
    expected = {
      "REMOTE_ADDR" => "127.0.0.1", "HTTP_X_FORWARDED_FOR" => "192.0.2.7, 127.0.0.2", "HTTP_X_FORWARDED_PROTO" => "https"
    }
    assert_equal expected, seen
  end

  def test_without_being_asked_nothing_is_added_but_the_mark_is_dropped
    mirror = mirror(puma(app("clients")))
    seen = ask(mirror, FORGED.merge("X_Forwarded_For" => nil))
    assert_equal %w[HTTP_X_FORWARDED_FOR HTTP_X_REAL_IP REMOTE_ADDR], seen.keys.sort
    refute_match(/warning/, mirror.started.err)
  end

  def test_puma_takes_the_address_from_a_proxy_protocol_header
    config = File.join(@dir, "puma.rb")
    File.write(config, "set_remote_address proxy_protocol: :v1\n")
    mirror = mirror(puma(app("clients"), "-C", config), "--send-proxy-protocol", "v1")
    2.times { assert_equal({ "REMOTE_ADDR" => "127.0.0.2" }, ask(mirror)) }
  end

  def test_nginx_takes_the_address_from_a_header_of_either_version
    skip "nginx is not installed: script/bootstrap installs it" unless NGINX
    primary = nginx_behind_proxy
    %w[v1 v2].each do |version|
      mirror = mirror(primary, "--send-proxy-protocol", version)
      TCPSocket.open("127.0.0.1", mirror.port, "127.0.0.2") do |socket|
        expected = "127.0.0.2 #{socket.local_address.ip_port} 127.0.0.2"
        assert_equal expected, http(socket, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").lines.last.chomp, version
      end
    end
  end

  def test_a_proxy_in_front_says_who_the_client_is
    primary = puma(app("clients"))
    mirror = mirror(primary, "--accept-proxy-protocol", "--forwarded", "replace")
    asked = finish(start("curl", "-sS", "--haproxy-protocol", "--haproxy-clientip", "192.0.2.7", mirror.url))
    assert_equal "192.0.2.7", JSON.parse(asked.out)["HTTP_X_FORWARDED_FOR"], asked.to_s
    refused = finish(start("curl", "-sS", mirror.url))
    assert_match(/\A400: the connection does not begin with a PROXY protocol header/, refused.out)
    refute_match(/warning/, mirror.started.err)
  end

  def test_a_shadow_is_told_of_the_same_client
    primary, shadow = Array.new(2) { puma(app("clients")) }
    log = File.join(@dir, "pairs.pbc")
    mirror = mirror(primary, "--forwarded", "replace", "--shadow", "new=#{shadow.url.chomp('/')}", "--shadow-log", log)
    ask(mirror, FORGED)
    ended = stop(mirror)
    assert_equal [3, 3], [ended, powerband("compare", "--shadow-log", log)].map(&:code), ended.to_s
    # The mark is the only difference between what the two applications saw.
    assert_match(/HTTP_X_POWERBAND_SHADOW/, ended.out)
    refute_match(%r{/HTTP_X_FORWARDED|/HTTP_FORWARDED|/REMOTE}, ended.out)
  end

  def test_a_mirror_that_hides_its_clients_says_so
    primary = puma(app("hello"))
    warned = mirror(primary, "--quiet", listens: "0.0.0.0")
    await("the warning", of: warned.started) { warned.started.err.include?("warning: ") }
    assert_match(/^powerband: warning: the primary sees .* --forwarded replace/, warned.started.err)
    started = mirror(primary, "--send-proxy-protocol", "v1", listens: "0.0.0.0")
    assert_equal 0, stop(started).code
    refute_match(/warning/, started.started.err)
  end

  def test_every_wrong_value_is_named
    ended = powerband("mirror", "--primary", "http://127.0.0.1:1", "--forwarded", "yes", "--send-proxy-protocol", "3",
                      "--shadow", "new=http://127.0.0.1:2", "--set-header", "X_Powerband_Shadow: a")
    assert_refused ended, 2, /--forwarded = "yes"/, /--send-proxy-protocol = "3"/, /--set-header = "X_Powerband_Shadow: …"/
  end

  private

  Mirror = Struct.new(:started, :port) do
    def url = "http://127.0.0.1:#{port}/"
  end

  def app(name) = File.join(APPS, name)

  def mirror(primary, *flags, listens: "127.0.0.1")
    port = free_port
    started = start(BINARY, "mirror", "--listen", "#{listens}:#{port}", "--primary", primary.url.chomp("/"), *flags)
    await("the mirror to listen", of: started) { listens?(port) }
    Mirror.new(started, port)
  end

  # What the application says of a client at 127.0.0.2 that sends these fields.
  def ask(mirror, fields = {})
    lines = { "Host" => "shop.test" }.merge(fields).compact.map { |name, value| "#{name}: #{value}\r\n" }
    lines << "Connection: close\r\n"
    JSON.parse(raw(mirror, "GET / HTTP/1.1\r\n#{lines.join}\r\n").split("\r\n\r\n", 2).last[/\{.*\}/m])
  end

  def raw(mirror, request)
    TCPSocket.open("127.0.0.1", mirror.port, "127.0.0.2") { |socket| http(socket, request) }
  end

  def http(socket, request)
    socket.write(request)
    socket.read
  end

  # Tells the announced address and port, and the one that a log would have.
  def nginx_behind_proxy
    folder = File.join(@dir, "behind")
    FileUtils.mkdir_p(folder)
    port = free_port
    File.write(File.join(folder, "nginx.conf"), <<~CONF)
      daemon off; master_process off; pid #{folder}/nginx.pid;
      events { worker_connections 64; }
      http {
        access_log off;
        #{%w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{folder}/tmp;" }.join(' ')}
        server {
          listen 127.0.0.1:#{port} proxy_protocol; set_real_ip_from 127.0.0.0/8; real_ip_header proxy_protocol;
          location / { return 200 "$proxy_protocol_addr $proxy_protocol_port $remote_addr\\n"; }
        }
      }
    CONF
    started = start(NGINX, "-p", folder, "-c", File.join(folder, "nginx.conf"), "-e", File.join(folder, "error.log"))
    await("nginx to listen", of: started) { listens?(port) }
    Serving.new(started, port)
  end
end
