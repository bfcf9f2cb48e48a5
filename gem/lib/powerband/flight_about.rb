# frozen_string_literal: true

module Powerband
  # What the process of a flight file is, and how many processes and threads its server was set to run; nil where a number is
  # not known, and empty where a text is not.
  class FlightAbout
    UNKNOWN = 0xFFFFFFFF
    # Within the section; older agents have none.
    TEXTS = [[0, 64], [64, 32], [96, 16]].freeze
    SIZE = 112

    attr_reader :app_root, :labels, :parent_pid, :workers, :threads

    # The block reads a text of so many bytes at an offset of the file.
    def self.read(head, &text)
      offset, size = head.unpack("x504L<2")
      new(head, size >= SIZE ? TEXTS.map { |at, length| text.call(offset + at, length) } : [""] * 3, &text)
    end

    def initialize(head, texts)
      @parent_pid, workers, threads = head.unpack("x76L<x28L<x4L<")
      @workers, @threads = [workers, threads].map { |count| count unless count == UNKNOWN }
      @app_root = yield(256, 128)
      arm, allocator, jit = texts
      server, version = yield(160, 32).split(" ", 2)
      @labels = { "server" => server.to_s, "version" => version.to_s, "ruby" => yield(128, 32), "jit" => jit,
                  "allocator" => allocator, "agent" => yield(224, 32), "arm" => arm }
    end
  end
end
