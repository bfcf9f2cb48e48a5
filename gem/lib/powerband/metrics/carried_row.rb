# frozen_string_literal: true

module Powerband
  class Metrics
    # A row of the file `carried`: its counters and histograms as pairs of a word and numbers.
    module CarriedRow
      NUMBER = /\A\d{1,20}\z/

      class << self
        # Adds the pairs of these names to a tally, and keeps the others.
        def add(tally, text, names, histograms = {})
          pairs = pairs_of(text)
          row = names.map { |name| number(pairs.delete(name)) if pairs.key?(name) }
          row += histograms.keys.flat_map { |word| buckets(pairs.delete(word)) }
          (histograms.empty? ? [row] : parts(row, pairs)).each { |part| tally.add(*row_and_mask(part)) }
          tally.keep(pairs)
        end

        def buckets_text(counts)
          counts.each_with_index.filter_map { |n, bucket| "#{bucket}:#{n}" if n.positive? }.join(",")
        end

        def number(text)
          text&.match?(NUMBER) ? Integer(text, 10) : damaged(text)
        end

        def damaged(line)
          raise Carried::Damaged, "the file of carried sums is damaged at #{line.to_s[0, 80].inspect}; remove it, and counters " \
                                  "begin anew"
        end

        private

        def pairs_of(text)
          text.split.to_h { |pair| pair.split("=", 2).then { |key, value| [key, value || damaged(pair)] } }
        end

        def row_and_mask(part)
          [part.map(&:to_i), part.map { |value| !value.nil? }]
        end

        def parts(row, pairs)
          sum, wall = [Edged::SUM, Edged::WALL].map { |word| pairs.delete(word) }
          parts = Edged.parts(row, sum && number(sum), buckets(wall))
          parts.any? { |part| part.compact.any?(&:negative?) } ? damaged("#{Edged::WALL}=#{wall}") : parts
        end

        def buckets(text)
          return [nil] * FlightFile::BUCKETS unless text

          row = [0] * FlightFile::BUCKETS
          text.split(",").each do |pair|
            bucket, count = pair.split(":", 2).map { |n| number(n) }
            damaged(pair) unless count && bucket < FlightFile::BUCKETS
            row[bucket] += count
          end
          row
        end
      end
    end
  end
end
