# frozen_string_literal: true

require "json"
require "open3"
require_relative "support/nginx"
require_relative "support/powerband"

# `powerband capture` and the replay of what it wrote, by the real binary.
class CaptureTest < PowerbandTest
  parallelize_me!

  include Nginx

  SAMPLE = File.join(ROOT, "contract/samples/capture/traffic-v1.pbc")
  LOG = File.join(ROOT, "crates/capture/tests/fixtures/combined.log")

  def test_info_of_the_sample
    ended = powerband("capture", "info", SAMPLE)
    assert_equal 0, ended.code, ended.to_s
    [/3 requests on 2 connections/, %r{GET /products/:id}, /web-1/, /1 requests? without/].each do |words|
      assert_match words, ended.out
    end
    ended = powerband("capture", "info", SAMPLE, "--json")
    assert_valid_document(ended.out, "capture-v1")
    said = JSON.parse(ended.out)
    assert_equal [3, 2, 2, 1], said.values_at("requests", "answered", "connections", "bodies_left_out")
    assert_in_delta 0.5, said["span_s"]
  end

  def test_every_format_there_and_back
    ours = convert(LOG, "pbc")
    assert_equal "600", format("%o", File.stat(ours).mode & 0o777)
    before = info(ours)
    assert_equal 3, before["requests"]
    %w[gor har vegeta h2load].each do |format|
      other = convert(ours, format)
      again = info(convert(other, "pbc", "#{format}.again.pbc"))
      assert_equal before["endpoints"], again["endpoints"], format
      next if format == "vegeta"

      assert_in_delta before["span_s"], again["span_s"], 1e-3, format
    end
  end

  def test_a_pipe
    out, err, status = Open3.capture3(BINARY, "capture", "convert", "-", "--to", "gor", stdin_data: File.binread(SAMPLE))
    assert_equal 0, status.exitstatus, err
    assert_includes out, "GET /products/1?token=REDACTED HTTP/1.1\r\nHost: shop.example.com\r\n"
    assert_match(/2 requests written to standard output; 1 skipped: record 3/, err)
  end

  def test_filter_redact_and_merge
    gets = run_to("gets.pbc", "filter", SAMPLE, "--method", "get,head", "--path", "^/products", "--status", "2xx")
    assert_equal 1, info(gets)["requests"]
    ended = powerband("capture", "filter", SAMPLE, "--status", "500", "-o", path("none.pbc"))
    assert_refused ended, 3, /no request is left/
    refute_path_exists path("none.pbc")

    secret = path("secret.gor")
    body = "user[password]=s3cret&quantity=2"
    File.binwrite(secret, "1 932079936fa4306f 1795265158000000000 0\nPOST /login?token=s3cret HTTP/1.1\r\nHost: shop.test\r\n" \
                          "Authorization: Bearer s3cret\r\nCookie: session=s3cret\r\n" \
                          "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: #{body.size}\r\n\r\n#{body}")
    clean = run_to("clean.pbc", "redact", secret)
    text = File.binread(convert(clean, "gor", "clean.gor"))
    refute_includes text, "s3cret"
    assert_includes text, "quantity=2"

    File.write(path("filter.rb"), "Rails.application.config.filter_parameters += [:passw, :quant]\n")
    clean = run_to("filtered.pbc", "redact", secret, "--filter-parameters", path("filter.rb"))
    assert_includes File.binread(convert(clean, "gor", "filtered.gor")), "quantity=REDACTED"
    File.write(path("filter.rb"), "Rails.application.config.filter_parameters += [/quant/]\n")
    ended = powerband("capture", "redact", secret, "--filter-parameters", path("filter.rb"), "-o", path("none.pbc"))
    assert_refused ended, 2, /line 1: only literal symbols and strings are read.*--redact-field/

    merged = info(run_to("merged.pbc", "merge", SAMPLE, clean))
    assert_equal 4, merged["requests"]
  end

  def test_a_damaged_file_is_read_as_far_as_it_can_be
    bytes = File.binread(SAMPLE)
    bytes.setbyte(bytes.size - 3, bytes.getbyte(bytes.size - 3) ^ 1)
    damaged = path("damaged.pbc")
    File.binwrite(damaged, bytes)
    said = info(damaged)
    assert_equal 2, said["requests"]
    assert_equal [1, 1], said["damage"].values_at("places", "requests")
    assert_match(/checksum/, said["damage"]["first"][0])
    ended = powerband("capture", "convert", damaged, "--to", "har", "-o", path("damaged.har"))
    assert_equal 0, ended.code, ended.to_s
    assert_match(/checksum is wrong, 1 record lost/, ended.err)
  end

  def test_what_is_wrong_is_told_once
    assert_refused powerband("capture", "info", path("none.pbc")), 2, /none\.pbc/, /name a file that is there/
    nonsense = path("nonsense")
    File.write(nonsense, "hello\n")
    assert_refused powerband("capture", "info", nonsense), 3, /not recognised/, /\.pbc/
    File.binwrite(nonsense, File.binread(SAMPLE)[0, 30])
    assert_refused powerband("capture", "info", nonsense), 3, /head of the capture file is damaged/
    File.write(path("there.gor"), "somebody's")
    ended = powerband("capture", "convert", SAMPLE, "--to", "gor", "-o", path("there.gor"))
    assert_refused ended, 2, /there\.gor is there already/, /--force/
    assert_equal "somebody's", File.read(path("there.gor"))
    ended = powerband("capture", "convert", SAMPLE, "--to", "gor", "-o", path("there.gor"), "--force", "--quiet")
    assert_equal [0, ""], [ended.code, ended.err], ended.to_s
    ended = powerband("capture", "filter", SAMPLE, "--path", "(", "--status", "999", "--from", "10", "--sample", "0",
                      "-o", path("x.pbc"))
    assert_refused ended, 2, /--path = "\("/, /--status = "999"/, /--from = "10"/, /--sample = "0"/
    assert_empty Dir.glob(path(".*.writing-*"), File::FNM_DOTMATCH)
  end

  def test_a_replay_keeps_connections
    site = nginx
    gets = run_to("gets.pbc", "filter", busy, "--method", "GET")
    ended = powerband("load", site.url("/"), "--replay", gets, "--speed", "10x", "--json")
    assert_equal 0, ended.code, ended.to_s
    said = JSON.parse(ended.out)
    assert_equal 30, said["counts"]["answered"], ended.to_s
    assert_equal 3, said["counts"]["connections"], "as many as were recorded"
    assert_equal 30, site.lines.size
  end

  def test_a_recording_is_the_workload_of_a_comparison
    gets = run_to("gets.pbc", "filter", busy, "--method", "GET")
    ended = measured(*experiment("compare", "threads=1", "threads=2", "--workload", gets, "--json", "--quiet").drop(1),
                     env: LIGHT, within: 400)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_valid_run_document(ended.out)
    entries = JSON.parse(ended.out)["plan"]["workload"]
    assert_equal [["GET /:id/:id", 1.0]], entries.map { |entry| [entry["name"], entry["share"].round(9)] }
  end

  private

  # Three connections, ten requests on each, all within a second.
  def busy
    entries = (0...30).map do |n|
      { "startedDateTime" => format("2026-11-21T12:45:58.%03dZ", n * 30), "connection" => (1 + (n % 3)).to_s,
        "request" => { "method" => "GET", "url" => "http://shop.test/#{n % 3}/#{n}", "httpVersion" => "HTTP/1.1",
                       "headers" => [] } }
    end
    log = { "creator" => { "name" => "WebInspector" }, "entries" => entries }
    path("busy.har").tap { |har| File.write(har, JSON.generate("log" => log)) }
  end

  def path(name)
    File.join(@dir, name)
  end

  def run_to(name, *words)
    ended = powerband("capture", *words, "-o", path(name))
    assert_equal 0, ended.code, ended.to_s
    path(name)
  end

  def convert(file, format, name = "converted.#{format}")
    run_to(name, "convert", file, "--to", format)
  end

  def info(file)
    ended = powerband("capture", "info", file, "--json")
    assert_equal 0, ended.code, ended.to_s
    assert_valid_document(ended.out, "capture-v1")
    JSON.parse(ended.out)
  end
end
