# frozen_string_literal: true

module Powerband
  class Metrics
    # A sum of rows, place by place, of which some rows do not measure some places. Rows are kept and added up some at
    # a time, because that is a loop in C where one by one is a loop in Ruby.
    class Tally
      AT_ONCE = 8

      # Pairs of the file `carried` that are no place of the row.
      attr_reader :unknown

      def initialize
        @rows = {}
        @unknown = {}
      end

      def keep(unknown)
        @unknown = Unknown.add(@unknown, unknown)
      end

      # `mask` says which places of the row count.
      def add(row, mask)
        rows = (@rows[mask] ||= [])
        rows << row
        rows.replace([sum(rows)]) if rows.size >= AT_ONCE
      end

      def merge(other)
        keep(other.unknown)
        other.rows.each { |mask, rows| add(sum(rows), mask) }
      end

      # The sums; nil in the places that no row measures.
      def to_a
        sums(@rows)
      end

      # The same of those rows alone that measure this place.
      def measuring(place)
        sums(@rows.select { |mask, _| mask[place] })
      end

      def [](place)
        to_a[place]
      end

      protected

      # By mask.
      attr_reader :rows

      private

      def sums(chosen)
        chosen.reduce([]) do |result, (mask, rows)|
          part = sum(rows)
          next part.zip(mask).map { |value, counts| value if counts } if result.empty?

          result.zip(part, mask).map { |before, value, counts| counts ? before.to_i + value : before }
        end
      end

      def sum(rows)
        rows.size == 1 ? rows.first : rows.transpose.map(&:sum)
      end
    end
  end
end
