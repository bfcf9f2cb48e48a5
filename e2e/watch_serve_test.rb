# frozen_string_literal: true

require "json"
require "net/http"
require_relative "support/powerband"
require_relative "support/watched"

# `powerband watch --serve` on a real Puma: the page, its data, who may ask for them, its end. What the page does with them in a
# browser is for web/test.
class WatchServeTest < PowerbandTest
  parallelize_me!

  include Watched

  def test_the_page_and_its_data_until_a_signal
    watched({ "POWERBAND_BURSTS" => "1" }) do
      started = served
      page = get("/")
      assert_equal ["200", "text/html; charset=utf-8"], [page.code, page["Content-Type"]]
      assert_includes page.body, "script-src 'sha256-"
      assert_includes page["Content-Security-Policy"], "frame-ancestors 'none'"
      picture = await("a window with requests", of: started) { busy_picture }
      assert_match(/1 process, puma/, picture.fetch("title"))
      assert_match(%r{for I/O}, picture.fetch("sentence"))
      assert_equal %w[Ruby lock], %w[Ruby lock] & picture.fetch("parts").map { |part| part.fetch("name") }
      process, endpoint = picture.fetch("tables").first(2).map { |table| table.fetch("rows").fetch(0).fetch("opens") }
      assert_equal({ "endpoint" => "GET /" }, endpoint)
      assert_match(/\Apid #{@site.started.pid}, puma/, seen(process).fetch("picture").fetch("title"))
      assert_in_course(endpoint)
      started.signal(:TERM)
      ended = finish(started)
      assert_equal [0, "http://127.0.0.1:#{@port}/\n"], [ended.code, ended.out], ended.to_s
    end
  end

  def test_it_goes_on_while_no_server_runs_and_ends_with_the_first_ctrl_c
    started = nil
    watched do
      started = served
      await("a window with requests", of: started) { busy_picture }
    end
    problem = await("the reason why there is nothing", of: started) { seen.fetch("problem") }
    assert_match(/no process runs that writes to the flight files/, problem)
    assert_nil seen.fetch("picture")
    # A client that never ends its question does not delay the end.
    socket = TCPSocket.new("127.0.0.1", @port).tap { |client| client.write("GET / HTTP/1.1\r\nHost: loc") }
    started.signal(:INT)
    assert_equal 0, finish(started).code
  ensure
    socket&.close
  end

  def test_other_hosts_and_origins_are_not_answered
    watched do
      served
      hosts = ["localhost:1", "127.0.0.1", "evil.example"].map { |host| get("/seen.json", "Host" => host).code }
      assert_equal %w[200 200 421], hosts
      refused = [{ "Origin" => "http://evil.example" }, { "Origin" => "null" }, { "Sec-Fetch-Site" => "cross-site" },
                 { "Sec-Fetch-Site" => "same-site" }].map { |fields| get("/seen.json", fields).code }
      assert_equal %w[403] * 4, refused
      assert_equal "200", get("/seen.json", "Sec-Fetch-Site" => "same-origin").code
      assert_nil get("/seen.json")["Access-Control-Allow-Origin"]
      posted = Net::HTTP.post(URI("http://127.0.0.1:#{@port}/seen.json"), "")
      assert_equal "405", posted.code
    end
  end

  def test_an_address_that_others_reach_needs_the_token
    watched do
      started = served("--serve=0.0.0.0:0")
      token = started.out[/\?token=(\h{32})$/, 1]
      assert token, started.to_s
      assert_equal 1, started.out.lines.length
      refute_includes started.err, token
      paths = ["/", "/seen.json", "/seen.json?token=", "/seen.json?token=#{token.reverse}", "/seen.json?token=#{token}"]
      assert_equal %w[403 403 403 403 200], paths.map { |path| get(path).code }
      refute_includes get("/").body, token
      assert_equal "421", get("/?token=#{token}", "Host" => "evil.example").code
      started.signal(:TERM)
      refute_includes finish(started).err, token
    end
  end

  def test_the_address_begins_with_what_is_asked_for
    watched do
      pid = @site.started.pid
      started = served("--serve", "--pid", pid)
      assert_match(%r{\Ahttp://127\.0\.0\.1:\d+/#process=#{pid}-\d+-\d+$}, started.out)
      started.signal(:TERM)
      finish(started)
    end
  end

  def test_wrong_usage_and_nothing_to_watch
    taken = TCPServer.new("127.0.0.1", 0)
    empty = File.join(@dir, "empty")
    Dir.mkdir(empty)
    assert_refused powerband("watch", "--serve", empty), 3, /no flight file in .*empty/
    assert_refused powerband("watch", "--serve=example.org", empty), 2,
                   /--serve = "example.org": no address; give an IP address and a port/
    [["--serve", "--once"], ["--no-open"]].each do |words|
      wrong = powerband("watch", *words, empty)
      assert_equal 2, wrong.code, wrong.to_s
      assert_match(/cannot be used with|required arguments/, wrong.err)
    end
    watched do
      port = taken.addr[1]
      wrong = powerband("watch", "--serve=127.0.0.1:#{port}", @flight)
      assert_equal [2, ""], [wrong.code, wrong.out]
      assert_match(/--serve = 127.0.0.1:#{port}: cannot listen there: .*in use.*; give .* a port that is free/, wrong.err)
    end
  ensure
    taken&.close
  end

  private

  # Serves, and waits for the address.
  def served(*words)
    words = ["--serve"] if words.empty?
    started = start(BINARY, "watch", *words, "--interval", "200ms", @flight)
    @port = await("the address", of: started) { started.out[%r{\Ahttp://[\d.]+:(\d+)/.*\n}, 1] }
    started
  end

  def get(path, fields = {})
    Net::HTTP.start("127.0.0.1", @port) { |http| http.request(Net::HTTP::Get.new(path, fields)) }
  end

  def seen(asked = {})
    answer = get("/seen.json?#{URI.encode_www_form(asked)}")
    assert_equal "200", answer.code, answer.body
    JSON.parse(answer.body)
  end

  # Everything, once enough requests have ended that the sentence speaks of all.
  def busy_picture
    picture = seen.fetch("picture")
    picture if picture&.fetch("sentence")&.start_with?("Requests")
  end

  # One of the slowest requests has its course.
  def assert_in_course(endpoint)
    slowest = seen(endpoint).dig("picture", "tables").find { |table| table.fetch("title") == "Slowest requests" }
    request = slowest.fetch("rows").fetch(0).fetch("opens")
    course = seen(endpoint.merge(request)).dig("picture", "course")
    assert_match(%r{\AGET /: 200 after}, course.fetch("title"))
    # Each of two waits of the application is I/O.
    assert_operator course.fetch("steps").count { |step| step.fetch("name") == "I/O" }, :>=, 2, course.to_s
  end
end
