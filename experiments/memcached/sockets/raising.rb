# frozen_string_literal: true

require "dalli"

# Lets Dalli read as it had to before Ruby 2.1 (`exception: false` came with that): where there is nothing to read yet,
# Ruby raises, and the exception is caught. Loaded before the application by the knob `require`.
module Sockets
  # Ruby's own socket, read the old way.
  class Raising < Dalli::Socket::TCP
    CHUNK = 8196

    def readfull(count)
      read = +""
      read << waited { read_nonblock(count - read.bytesize) } while read.bytesize < count
      read
    end

    # What there is, without waiting.
    def read_available
      all = +""
      loop { all << read_nonblock(CHUNK) }
    rescue IO::WaitReadable
      all
    end

    private

    def waited
      yield
    rescue IO::WaitReadable
      wait_readable(options[:socket_timeout]) || raise(Timeout::Error, "memcached did not answer")
      retry
    end
  end
end

Dalli::Socket.send(:remove_const, :TCP)
Dalli::Socket.const_set(:TCP, Sockets::Raising)
