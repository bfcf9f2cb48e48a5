# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# What a server does before and after the application, and every way of writing a response, under Puma and Unicorn.
class SpansTest < Minitest::Test
  SPANS = 16 # flag of a record whose parse and write times are known
  SLOW_US = 100_000

  # How each is started, and where it wants to be asked for a body that waits for "100 Continue": Unicorn has the
  # application answer 100 first and calls it again.
  SERVERS = { "puma" => [PumaServer, %w[-t 1:3], "/echo"], "unicorn" => [UnicornServer, [], "/continue"] }.freeze

  # path => [the body, whether writing it is slow]
  BODIES = { "/plain" => ["hello", false], "/each" => ["partpart", true], "/partial" => ["partial", false] }.freeze

  # How often a quick page is requested: of several, one at least is served while no other process holds up the
  # machine.
  TIMES = 4

  SERVERS.each do |name, (server, flags, echo)|
    define_method(:"test_#{name}_writes_every_body_as_without_us_and_its_writing_is_timed") do
      flights = server.run(*flags, app: "bodies.ru", env: none) do |s|
        BODIES.each { |path, (body, _)| TIMES.times { assert_equal body, s.get(path), path } }
      end
      BODIES.each { |path, (_, slow)| assert_written(records(flights, path), slow, path) }
    end

    define_method(:"test_#{name}_head_100_continue_and_a_connection_taken_over") do
      flights = server.run(*flags, app: "bodies.ru", env: none) do |s|
        assert_match(%r{\AHTTP/1.1 200 OK\r\n.*\r\n\r\n\z}m, exchange(s, "HEAD /head", "connection: close"))
        assert_match(%r{\AHTTP/1.1 200.*hijacked\z}m, exchange(s, "GET /full"))
        assert_match(%r{\AHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200.*body!}m, continued(s, echo))
      end

      assert_equal [2, 200], record(flights, "/head", "HEAD").values_at(:method, :status)
      assert_equal [3, 200], record(flights, echo, "POST").values_at(:method, :status)
      assert_operator record(flights, "/full")[:wall_ns], :>=, SLOW_US * 1000
      assert_equal 0, flights.sum { |f| f[:faults] + f[:in_flight] }
    end
  end

  def test_a_body_that_writes_itself_as_rack_3_has_it
    flights = PumaServer.run("-t", "1:1", app: "bodies.ru") do |server|
      TIMES.times { assert_equal "called", server.get("/call") }
    end

    assert_written(records(flights, "/call"), true, "/call")
  end

  # The server answers as it would; each request is one record.
  def test_a_body_that_raises_and_a_response_that_comes_later
    flights = PumaServer.run("-t", "1:1", app: "bodies.ru") do |server|
      assert_match(/while writing/, server.get("/raise"))
      Net::HTTP.start("127.0.0.1", server.port, read_timeout: 0.2, max_retries: 0) do |http|
        assert_raises(Net::ReadTimeout, EOFError) { http.get("/thrown") }
      end
      assert_equal "hello", server.get("/after")
    end

    assert_equal 200, record(flights, "/raise")[:status]
    assert_equal 0, record(flights, "/thrown")[:status]
    assert_equal 0, flights.first[:in_flight]
    assert_equal SPANS, record(flights, "/after")[:flags] & SPANS
  end

  # Puma reads what comes in pieces in its reactor; a thread of the pool is asked only once the request is whole.
  def test_waiting_for_a_slow_client_is_not_parsing
    flights = PumaServer.run("-t", "1:1", app: "bodies.ru") do |server|
      TCPSocket.open("127.0.0.1", server.port) do |socket|
        TIMES.times do |n|
          socket.write("GET /slow/#{n} HTTP/1.1\r\n")
          sleep SLOW_US / 1e6
          socket.write("host: a\r\n\r\n")
          assert_match(%r{\AHTTP/1.1 200}, socket.readpartial(4096))
        end
      end
    end
    slow = flights.first.records.select { |r| flights.first.endpoint_of(r) == "GET /slow/:id" }

    assert_equal [SPANS] * TIMES, slow.map { |r| r[:flags] & SPANS }
    assert_operator slow.map { |r| r[:parse_us] }.min, :<, SLOW_US / 2
  end

  # Kept-alive connections, on which Puma 6 waits for the next request inside the same call.
  def test_every_request_on_a_kept_connection_is_marked_and_waiting_for_the_next_is_not_parsing
    flights = PumaServer.run("-t", "1:1", app: "bodies.ru") do |server|
      Net::HTTP.start("127.0.0.1", server.port) { |http| 4.times { |n| http.get("/kept/#{n}") && sleep(SLOW_US / 1e6) } }
    end
    kept = flights.first.records.select { |r| flights.first.endpoint_of(r) == "GET /kept/:id" }

    assert_equal [SPANS] * 4, kept.map { |r| r[:flags] & SPANS }
    # The first one waited for nothing.
    assert_includes 1...(SLOW_US / 2), kept.drop(1).map { |r| r[:parse_us] }.min
  end

  private

  # Unicorn adds middleware of its own unless given "none".
  def none
    { "RACK_ENV" => "none" }
  end

  # The quickest of them: a busy machine makes any of them slow, and none of them quick.
  def assert_written(records, slow, path)
    assert_equal [SPANS] * TIMES, records.map { |r| r[:flags] & SPANS }, path
    assert_operator records.map { |r| r[:write_us] }.min, slow ? :>= : :<, SLOW_US, path
    assert_operator records.map { |r| r[:wall_ns] }.min, :<, SLOW_US * 1000, path
  end

  # The last of them.
  def record(flights, path, method = "GET")
    records(flights, path, method).last
  end

  def records(flights, path, method = "GET")
    found = flights.map { |f| f.records.select { |r| f.endpoint_of(r) == "#{method} #{path}" } }.reject(&:empty?)
    assert_equal 1, found.size, "#{method} #{path} in one process"
    found.first
  end

  def exchange(server, line, *headers)
    TCPSocket.open("127.0.0.1", server.port) do |socket|
      socket.write(["#{line} HTTP/1.1", "host: a", *headers].join("\r\n"), "\r\n\r\n")
      socket.read
    end
  end

  def continued(server, path)
    TCPSocket.open("127.0.0.1", server.port) do |socket|
      socket.write("POST #{path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n")
      first = socket.readpartial(4096)
      socket.write("body!")
      first + socket.read
    end
  end
end
