# frozen_string_literal: true

require "openssl"
require "socket"

# A receiver of OTLP over HTTP that decodes what it is given. It knows the wire format of protobuf and the numbers of OTLP's
# fields alone, and shares nothing with the exporter.
class OtlpReceiver
  # What a request said: its path, its headers and its metrics by name.
  Push = Struct.new(:path, :headers, :resource, :metrics)
  # One metric; points are hashes.
  Metric = Struct.new(:unit, :kind, :cumulative, :points) do
    def point(attributes = {})
      points.find { |point| point[:attributes] == attributes }
    end
  end
  KINDS = { 5 => :gauge, 7 => :sum, 9 => :histogram }.freeze
  CUMULATIVE = 2

  attr_reader :port
  # Status line's rest and headers of each answer.
  attr_accessor :answer

  def initialize(port: 0, tls: nil)
    @server = TCPServer.new("127.0.0.1", port)
    @port = @server.addr[1]
    @pushes = Queue.new
    @answer = "200 OK\r\n"
    listener = tls ? OpenSSL::SSL::SSLServer.new(@server, tls) : @server
    @thread = Thread.new { loop { serve(listener) } }
    @thread.report_on_exception = false
  end

  # The next push that was not taken from here yet.
  def push
    found = @pushes.pop(timeout: 60) or raise "no push within 60 s"
    found.is_a?(Push) ? found : raise(found)
  end

  # Leaves out those before.
  def last_push
    push until @pushes.size <= 1
    push
  end

  def close
    @thread.kill
    @server.close
  end

  private

  def serve(listener)
    socket = listener.accept
    head = socket.readline("\r\n\r\n").split("\r\n")
    headers = head.drop(1).to_h { |line| line.downcase.split(": ", 2) }
    body = socket.read(Integer(headers.fetch("content-length")))
    sent = head.drop(1).map { |line| line.sub(/\A[^:]+/, &:downcase) }
    @pushes << begin
      decoded(head.first.split[1], sent, body)
    rescue StandardError => e
      e
    end
    socket.write("HTTP/1.1 #{answer}Content-Length: 0\r\nConnection: close\r\n\r\n")
    socket.close
  rescue SystemCallError, OpenSSL::SSL::SSLError, EOFError
    # The client has left, or refuses the certificate.
    nil
  end

  def decoded(path, headers, body)
    of = one(fields(body), 1)
    metrics = one(of, 2)[2].to_h do |bytes|
      metric = fields(bytes)
      [metric[1].first, metric_of(metric)]
    end
    Push.new(path, headers, attributes(one(of, 1), 1), metrics)
  end

  def metric_of(metric)
    number, kind = KINDS.find { |field, _| metric.key?(field) }
    data = one(metric, number)
    points = data[1].map { |bytes| kind == :histogram ? histogram(fields(bytes)) : number(fields(bytes)) }
    Metric.new(metric[3]&.first.to_s, kind, data[2]&.first == CUMULATIVE, points)
  end

  def number(point)
    value = point[6] ? point[6].first.unpack1("q<") : point[4].first.unpack1("E")
    times(point).merge(attributes: attributes(point, 7), value:)
  end

  def histogram(point)
    times(point).merge(attributes: attributes(point, 9), count: fixed(point[4]), sum: point[5].first.unpack1("E"),
                       counts: point[6].first.unpack("Q<*"), bounds: point[7].first.unpack("E*"))
  end

  def times(point)
    { start_ns: fixed(point[2]), time_ns: fixed(point[3]) }
  end

  # A zero is not written.
  def fixed(values) = values ? values.first.unpack1("Q<") : 0

  def attributes(message, number)
    (message[number] || []).to_h do |bytes|
      pair = fields(bytes)
      [utf8(pair[1].first), utf8(one(pair, 2)[1]&.first.to_s)]
    end
  end

  def utf8(bytes) = bytes.dup.force_encoding(Encoding::UTF_8)

  def one(message, number) = fields(message.fetch(number).first)

  # Values by field number: numbers, or bytes.
  def fields(bytes)
    found = Hash.new { |all, number| all[number] = [] }
    at = 0
    while at < bytes.bytesize
      key, at = varint(bytes, at)
      case key & 7
      when 0 then value, at = varint(bytes, at)
      when 1, 2
        length, at = (key & 7) == 1 ? [8, at] : varint(bytes, at)
        value = bytes.byteslice(at, length)
        at += length
      else raise "wire type #{key & 7}"
      end
      found[key >> 3] << value
    end
    found.default = nil
    found
  end

  def varint(bytes, at)
    value = shift = 0
    loop do
      byte = bytes.getbyte(at)
      value |= (byte & 127) << shift
      shift += 7
      at += 1
      return [value, at] if byte < 128
    end
  end
end
