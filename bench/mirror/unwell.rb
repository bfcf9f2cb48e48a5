# frozen_string_literal: true

# A shadow that is not well: `ruby unwell.rb hung|resetting|garbage|trickle|slow PORT`, on loopback, until it is ended.

require "socket"

KIND = ARGV.fetch(0)
server = TCPServer.new("127.0.0.1", Integer(ARGV.fetch(1)))
server.listen(4096)
ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 44\r\n\r\nPowerband measures, and this is the answer.\n"

# Ends with a reset instead of an orderly close.
def reset(socket)
  socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
  socket.close
end

def heads(socket)
  yield while socket.gets("\r\n\r\n")
end

def converse(socket)
  case KIND
  when "hung" then sleep
  when "resetting" then socket.readpartial(4096) && reset(socket)
  when "garbage" then heads(socket) { socket.write("\x00\xffSSH-2.0-nonsense\r\n\r\n" * 8) }
  when "trickle" then heads(socket) { ANSWER.each_char { |byte| socket.write(byte) && sleep(1) } }
  when "slow" then heads(socket) { sleep(0.005) && socket.write(ANSWER) }
  end
rescue SystemCallError, IOError
  socket.close
end

loop { Thread.new(server.accept) { |socket| converse(socket) } }
