# frozen_string_literal: true

require "test_helper"
require "faraday"
require "minitest/mock"
require "net/http"
require "socket"
require "support/native_double"
require "support/one_request"

# HTTP clients against a small server in this process.
class HttpTest < Minitest::Test
  include OneRequest
  include NativeDouble

  # Answers everything, after as many milliseconds as the path says.
  class Server
    attr_reader :port

    def initialize
      @listener = TCPServer.new("127.0.0.1", 0)
      @port = @listener.addr[1]
      @thread = Thread.new { loop { Thread.new(@listener.accept) { |socket| serve(socket) } } }
    end

    def stop
      @thread.kill.join
      @listener.close
    end

    private

    def serve(socket)
      while (line = socket.gets)
        head = [line]
        head << (line = socket.gets) until line == "\r\n"
        socket.read(head.join[/content-length: (\d+)/i, 1].to_i)
        sleep(head.first[%r{/(\d+)}, 1].to_i / 1000.0)
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      end
    rescue SystemCallError, IOError
      nil
    ensure
      socket.close
    end
  end

  def setup
    super
    @server = Server.new
    @uri = URI("http://127.0.0.1:#{@server.port}/0")
  end

  def teardown
    @server.stop
  end

  def test_every_way_to_ask_counts_once
    {
      "Net::HTTP.get" => -> { assert_equal "ok", Net::HTTP.get(@uri) },
      "Net::HTTP.post" => -> { Net::HTTP.post(@uri, "x=1", "content-type" => "text/plain") },
      "unstarted" => -> { Net::HTTP.new(@uri.host, @uri.port).get("/0") },
      "Faraday" => -> { assert_equal "ok", Faraday.get(@uri).body }
    }.each do |way, ask|
      record = one_request(&ask)

      assert_equal [1, 0], record.values_at(:http_count, :faults), way
      assert_operator record[:http_us], :>, 0, way
    end
  end

  def test_requests_on_one_connection
    body = +""
    record = one_request do
      Net::HTTP.start(@uri.host, @uri.port) do |http|
        3.times { http.get("/0") }
        http.request(Net::HTTP::Get.new("/0")) { |response| response.read_body { |part| body << part } }
      end
    end

    assert_equal ["ok", 4], [body, record[:http_count]]
  end

  def test_the_time_of_connecting_counts_though_it_is_no_request
    slow = lambda do |*arguments|
      sleep 0.1
      TCPSocket.new(*arguments)
    end
    record = one_request do
      TCPSocket.stub(:open, slow) { Net::HTTP.start(@uri.host, @uri.port) { |http| http.get("/0") } }
    end

    assert_equal 1, record[:http_count]
    assert_operator record[:http_us], :>=, 100_000
  end

  def test_an_exception_passes_and_is_a_call
    dead = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
    record = one_request do
      assert_raises(Errno::ECONNREFUSED) { Net::HTTP.new("127.0.0.1", dead).get("/") }
      assert_raises(Net::ReadTimeout) do
        Net::HTTP.start(@uri.host, @uri.port, read_timeout: 0.05, max_retries: 0) { |http| http.get("/500") }
      end
    end

    assert_equal [2, 0], record.values_at(:http_count, :faults)
  end

  def test_what_we_raise_does_not_reach_the_application
    capture_io do
      %i[call_start call_finish].each do |broken|
        ours = ->(*) { raise TypeError, "ours" }
        record = with_native(broken, ours) { one_request { assert_equal "ok", Net::HTTP.get(@uri) } }

        assert_equal 0, record[:http_count], broken
        assert_operator record[:faults], :>=, 1
      end
    end
  end

  def test_hooking_twice_changes_nothing
    2.times { Powerband::Calls::Clients.net_http(Net::HTTP) }

    assert_equal 1, one_request { Net::HTTP.get(@uri) }[:http_count]
  end

  # A library that is only announced is neither loaded nor taken for loaded.
  def test_an_autoload_is_not_touched
    Object.autoload(:NotLoadedYet, "/nowhere/not_loaded_yet")

    assert_nil Powerband::Calls.constant(%i[NotLoadedYet Inner])
    assert_nil Powerband::Calls.constant(%i[Net NotThere])
    assert_same Net::HTTP, Powerband::Calls.constant(%i[Net HTTP])
  ensure
    Object.send(:remove_const, :NotLoadedYet)
  end
end
