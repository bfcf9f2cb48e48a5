require "json"
require "socket"
require "zlib"

# The slow upstream of the availability page: GET /stock/WAREHOUSE/SKU answers {"units": n} after a fixed delay. A
# thread a connection and a sleep, so that its answers take equally long however many are asked for at once: what a
# measurement of the shop then sees is the shop. Loopback only.
class StockService
  PATH = %r{\AGET (/stock/(\w+)/([\w-]+)) HTTP/1\.[01]\r?\n\z}
  MAX_UNITS = 40

  # Port 0 takes any free port; #port tells which.
  def initialize(port:, delay_s:)
    @server = TCPServer.new("127.0.0.1", port)
    @server.listen(1024)
    @delay_s = delay_s
  end

  def port
    @server.addr[1]
  end

  def run
    loop do
      Thread.new(@server.accept) do |client|
        serve(client)
      rescue SystemCallError, IOError
        # The caller went away; there is nobody left to tell.
      ensure
        client.close
      end
    end
  end

  def close
    @server.close
  end

  private

  def serve(client)
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    match = PATH.match(client.gets.to_s)
    nil until ["\r\n", "\n", nil].include?(client.gets)
    return respond(client, "404 Not Found", error: "no such resource") unless match

    sleep(@delay_s)
    respond(client, "200 OK", units: Zlib.crc32(match[1]) % MAX_UNITS)
  end

  def respond(client, status, body)
    json = JSON.generate(body)
    client.write("HTTP/1.1 #{status}\r\ncontent-type: application/json\r\ncontent-length: #{json.bytesize}\r\n" \
                 "connection: close\r\n\r\n#{json}")
  end
end
