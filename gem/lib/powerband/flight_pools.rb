# frozen_string_literal: true

module Powerband
  # The latest state of each connection pool of a process, from its flight file.
  module FlightPools
    LATEST = 64
    SIZE = 32

    class << self
      # Pool => [size, busy, idle, dead, waiting]: its newest sample among the latest. Where samples lie is the header's to
      # say; the block reads so many bytes at an offset.
      def read(offset, size, capacity, written)
        return {} if offset.zero? || size < SIZE || !capacity.between?(1, 1 << 16)

        from = [written - [LATEST, capacity].min, 0].max
        (from...written).filter_map { |k| sample(yield(SIZE, offset + ((k % capacity) * size)), k + 1) }.to_h
      end

      private

      def sample(bytes, expected)
        sequence, _, most, _, busy, dead, idle, waiting, pool = bytes.unpack("Q<2S<7")
        [pool, [most, busy, idle, dead, waiting]] if pool && sequence == expected
      end
    end
  end
end
