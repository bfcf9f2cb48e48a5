# frozen_string_literal: true

module Powerband
  class Metrics
    # What a newer agent has written into the file `carried` and this one does not know. A writer keeps it, because the newer
    # agent may read the file again: pairs as texts by their names, and whole lines.
    module Unknown
      NUMBER = /\A\d{1,20}\z/
      BUCKETS = /\A(\d{1,20}:\d{1,20}(,\d{1,20}:\d{1,20})*)?\z/

      class << self
        # The pairs of two rows that become one.
        def add(one, other)
          one.merge(other) { |_, mine, theirs| sum(mine, theirs) }
        end

        private

        # Of texts that are neither numbers nor buckets the first stays.
        def sum(mine, theirs)
          both = [mine, theirs]
          return both.sum(&:to_i).to_s if both.all?(NUMBER)

          both.all?(BUCKETS) ? buckets(counts(mine), counts(theirs)) : mine
        end

        def buckets(mine, theirs)
          mine.merge(theirs) { |_, a, b| a + b }.sort.map { |pair| pair.join(":") }.join(",")
        end

        def counts(text)
          text.split(",").to_h { |pair| pair.split(":").map(&:to_i) }
        end
      end
    end
  end
end
