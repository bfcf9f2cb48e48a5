# frozen_string_literal: true

require_relative "support/nginx"
require_relative "support/powerband"

# `powerband load` at targets that cannot be reached, or must not be: one message with what is wrong and what to do.
class LoadRefusedTest < PowerbandTest
  parallelize_me!

  include Nginx

  def test_nobody_listens
    port = free_port
    ended = powerband("load", "http://127.0.0.1:#{port}/", "--duration", "1m")
    assert_equal 3, ended.code, ended.to_s
    assert_match(/no request was answered; GET .*connection refused; is the server running at http.*#{port}/,
                 ended.messages.join)
    assert_match(/given up/, ended.out)
    refute_match(/figures are/, ended.out, "no server answered")
  end

  def test_a_name_that_does_not_exist
    assert_refused powerband("load", "http://no-such-host.invalid/"), 2, /no-such-host\.invalid cannot be resolved/
  end

  def test_another_machine
    older = %w[rows.csv run.hlog].map { |name| File.join(@dir, name).tap { |path| File.write(path, "older") } }
    ended = powerband("load", "http://192.0.2.1/", "-n", 1, "--csv", older[0], "--hdr-log", older[1])
    assert_refused ended, 2, /192\.0\.2\.1/, /--allow-remote/
    assert_equal(%w[older older], older.map { |path| File.read(path) })
  end

  def test_a_certificate_that_nobody_vouches_for
    site = nginx
    refused = powerband("load", site.tls_url, "-n", 20)
    assert_equal 3, refused.code, refused.to_s
    assert_match(/certificate/i, refused.messages.join)
    assert_empty site.lines
    [["--cacert", site.certificate], ["--insecure"]].each do |trusted|
      ended = powerband("load", site.tls_url, "-n", 20, "-c", 2, *trusted)
      assert_equal 0, ended.code, ended.to_s
      assert_match(/20 answered, 0 failed/, ended.out)
    end
    assert_equal 40, site.lines.size
  end

  def test_a_unix_socket
    site = nginx
    ended = powerband("load", "http://shop.example/cart", "--unix-socket", site.socket, "-n", 30)
    assert_equal 0, ended.code, ended.to_s
    assert_equal 30, site.lines.grep(%r{GET /cart}).size
    missing = powerband("load", "http://shop.example/", "--unix-socket", File.join(@dir, "none"), "-n", 5)
    assert_equal 3, missing.code, missing.to_s
  end

  def test_methods_that_change_data
    site = nginx
    url = site.url("/cart")
    ended = powerband("load", url, "-n", 5, "-X", "DELETE")
    assert_refused_by site, ended, 2, /DELETE would be sent/, /--allow-unsafe/
    ended = powerband("load", url, "-n", 5, "-X", "DELETE", "--allow-unsafe")
    assert_equal 0, ended.code, ended.to_s
    assert_equal 5, site.lines.grep(/DELETE/).size
  end

  def test_everything_wrong_is_told_at_once
    ended = powerband("load", "ftp://127.0.0.1/", "--rate", "fast", "-c", 3, "--arrivals", "often", "--duration", "10",
                      "--assert", "p99=3,speed=1", "--slo", "p99", "--seed", "x", "--header", "nonsense")
    assert_refused ended, 2, /ftp:/, /--rate = "fast"/, /-c means nothing here/, /--arrivals = "often"/,
                   /--duration = "10"/, /--assert = "p99=3"/, /--assert = "speed=1"/, /--slo = "p99"/, /--seed = "x"/,
                   /--header, number 1: no colon/
    assert_equal 10, ended.messages.size, ended.to_s
  end

  def test_settings_from_the_environment_that_are_wrong
    ended = powerband("load", "http://127.0.0.1:1/", env: { "POWERBAND_RATE" => "fast" })
    assert_refused ended, 2, /"fast"/, /requests a second/
  end

  private

  def assert_refused_by(site, ended, code, *said)
    assert_equal code, ended.code, ended.to_s
    said.each { |words| assert_match words, ended.messages.join }
    assert_empty site.lines
  end
end
