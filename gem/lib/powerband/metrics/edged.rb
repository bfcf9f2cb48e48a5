# frozen_string_literal: true

module Powerband
  class Metrics
    # Requests of processes that also count those of at most 75 and 250 ms. Older agents do not, and in a histogram with
    # these bounds their requests would be in some buckets and not in others: it is of the others' requests throughout.
    module Edged
      PLACE = FlightFile::NAMED.index(FlightLayout::EDGES_NS.keys.first)
      WALL_NS = FlightFile::NAMED.index(:wall_ns)
      PLACES = [*PLACE...(PLACE + FlightLayout::EDGES_NS.size)].freeze
      # Their words in the file `carried`.
      SUM = "edged_ns"
      WALL = "edged"

      # A row of all, and what of its wall time is these requests', as two rows that add up to it: of these requests, and
      # of the others.
      def self.parts(row, sum, wall)
        others = row.dup
        PLACES.each { |place| others[place] = nil }
        return [others] unless sum && wall.first

        edged = Array.new(row.size)
        [WALL_NS, *FlightFile::WALL].zip([sum, *wall]) do |place, value|
          edged[place] = value
          others[place] = row[place].to_i - value
        end
        PLACES.each { |place| edged[place] = row[place].to_i }
        [edged, others]
      end
    end
  end
end
