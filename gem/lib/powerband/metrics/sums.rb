# frozen_string_literal: true

module Powerband
  class Metrics
    # What the processes of an application have counted since their files were made, and what the files that were
    # removed since had counted.
    class Sums
      OTHER = "(other)"
      JOB = "job "
      ZERO = Array.new(FlightFile::ROW, 0).freeze

      # By kind (:request or :job) and name; over all; outside requests; and lines of the file `carried` that are none of these.
      attr_reader :endpoints, :totals, :process, :unknown

      def initialize
        @endpoints = { request: {}, job: {} }
        @totals = Tally.new
        @process = Tally.new
        @unknown = []
      end

      def add(file)
        mask = Measured.mask(file)
        @totals.add(file.totals, mask.first(FlightFile::NAMED.size))
        @process.add(file.process.to_a, Measured.process(file))
        # A server that has answered nothing yet says 0 and not nothing.
        endpoint(:request, OTHER).add(ZERO, mask)
        file.entries.each do |entry|
          Pace.give_way
          endpoint(*kind_and_name(entry.name, file)).add(entry.row, mask)
        end
      end

      def merge(other)
        @totals.merge(other.totals)
        @process.merge(other.process)
        @unknown.concat(other.unknown)
        other.endpoints.each do |kind, names|
          names.each do |name, tally|
            Pace.give_way
            endpoint(kind, name).merge(tally)
          end
        end
      end

      # Leaves so many names of a kind, those with the most requests; the others become OTHER.
      def fold(most)
        @endpoints.each do |kind, names|
          next if names.size <= most

          ranked = (names.keys - [OTHER]).sort_by { |name| [-names[name][0].to_i, name.b] }
          ranked.drop(most).each { |name| endpoint(kind, OTHER).merge(names.delete(name)) }
        end
      end

      # The rows of a kind, by name.
      def by_name(kind)
        @endpoints.fetch(kind).transform_values do |tally|
          Pace.give_way
          tally.to_a
        end
      end

      # The row of all of a kind together.
      def of_all(kind)
        @endpoints.fetch(kind).each_value.with_object(Tally.new) do |tally, all|
          Pace.give_way
          all.merge(tally)
        end.to_a
      end

      def endpoint(kind, name)
        @endpoints.fetch(kind)[name] ||= Tally.new
      end

      private

      # What found no entry of its own is of the kind of all that did.
      def kind_and_name(name, file)
        return [:job, name.delete_prefix(JOB)] if name.start_with?(JOB)

        [name == OTHER && jobs_only?(file) ? :job : :request, name]
      end

      def jobs_only?(file)
        names = file.entries.map(&:name) - [OTHER]
        names.any? && names.all? { |name| name.start_with?(JOB) }
      end
    end
  end
end
