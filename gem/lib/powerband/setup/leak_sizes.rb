# frozen_string_literal: true

module Powerband
  class Setup
    # Sizes of what can grow without holding a new object: an array of numbers, a string that is appended to.
    module LeakSizes
      KINDS = [[Array, :size, 64], [Hash, :size, 64], [String, :bytesize, 4096]].freeze

      # Yields the kind, the address and the size of each that has at least so many.
      def self.each
        KINDS.each do |kind, size, least|
          # A subclass may have a method of its own.
          measure = kind.instance_method(size)
          ObjectSpace.each_object(kind) do |object|
            measured = measure.bind_call(object)
            yield kind.name, Native.address(object), measured if measured >= least
          end
        end
      end
    end
  end
end
