# frozen_string_literal: true

require "dalli"
require "kgio"

# Gives Dalli sockets of kgio in place of Ruby's, as Dalli itself did up to 2.7 where kgio was installed. Loaded before
# the application by the knob `require`.
module Sockets
  # kgio's own read, write and wait in C: no exception where there is nothing to read yet.
  class Kgio < ::Kgio::TCPSocket
    attr_accessor :options

    CHUNK = 8196
    CONNECT_TIMEOUT_S = 5

    def self.open(host, port, options = {})
      socket = new(host, port)
      socket.options = { host:, port: }.merge(options)
      socket.setsockopt(::Socket::IPPROTO_TCP, ::Socket::TCP_NODELAY, 1)
      socket
    end

    def write(bytes)
      kgio_write(bytes)
      bytes.bytesize
    end

    def readfull(count)
      read = kgio_read!(count)
      read << kgio_read!(count - read.bytesize) while read.bytesize < count
      read
    end

    # What there is, without waiting.
    def read_available
      all = +""
      while (read = kgio_tryread(CHUNK)) != :wait_readable
        raise EOFError, "memcached closed the connection" unless read

        all << read
      end
      all
    end

    private

    def kgio_wait_readable
      wait_readable(timeout_s) || raise(Timeout::Error, "memcached did not answer")
    end

    def kgio_wait_writable
      wait_writable(timeout_s) || raise(Timeout::Error, "memcached takes nothing")
    end

    # It waits for the connection, too, before there are options.
    def timeout_s
      options ? options[:socket_timeout] : CONNECT_TIMEOUT_S
    end
  end
end

Dalli::Socket.send(:remove_const, :TCP)
Dalli::Socket.const_set(:TCP, Sockets::Kgio)
