# frozen_string_literal: true

module Powerband
  class Metrics
    # The family that OpenTelemetry names for servers, with its labels: `http.server.request.duration` by route.
    module OpenTelemetry
      NAME = "http_server_request_duration_seconds"
      HELP = "Time of requests in the application by route, of processes that count 75 and 250 ms."
      METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE].freeze
      # What the agent writes for a method that it has no number for, and what OpenTelemetry writes.
      KNOWN = METHODS.to_h { |method| [method, method] }.merge("OTHER" => "_OTHER").freeze

      # A bound, the number of buckets of the file that end at or below it, and the counter that has what the buckets do not.
      Bound = Struct.new(:label, :buckets, :counter)
      POWERS = Families::EXPONENTS.map { |exponent| (2**exponent) * 1000 }.freeze
      BOUNDS = (POWERS + FlightLayout::EDGES_NS.values).sort.map do |ns|
        exponent = (ns / 1000).bit_length - 1
        counter = FlightFile::NAMED.index(FlightLayout::EDGES_NS.key(ns))
        Bound.new(Text.labels("le" => Text.seconds(ns)), 4 * (exponent - 1), counter)
      end.freeze
      INFINITE = Text.labels("le" => "+Inf")

      class << self
        # The family of these endpoints, as far as their processes count the edges.
        def write(text, sums, names)
          text.family(NAME, "histogram", HELP, prefix: "") do
            names.each do |name|
              Pace.give_way
              row = sums.endpoint(:request, name).measuring(Edged::PLACE)
              counts = row[FlightFile::WALL]
              samples(text, labels(name), row, counts) if counts&.any?(&:positive?)
            end
          end
        end

        # The labels of an endpoint's name: its method, where it begins with one, and the rest.
        def labels(name)
          method, space, route = name.partition(" ")
          known = KNOWN[method] unless space.empty?
          Text.labels("http_request_method" => known, "http_route" => known ? route : name)
        end

        private

        def samples(text, labels, row, counts)
          below = BOUNDS.map { |bound| counts.first(bound.buckets).sum } << counts.sum
          BOUNDS.each_with_index do |bound, at|
            text.sample("#{labels},#{bound.label}", up_to(row, bound, below[at], below[at + 1]), "_bucket")
          end
          text.sample("#{labels},#{INFINITE}", below.last, "_bucket")
          text.sample(labels, Text.seconds(row[Edged::WALL_NS]), "_sum")
          text.sample(labels, below.last, "_count")
        end

        # A reader may see a request in the one counter and not yet in the other: no bound has fewer than the one below it,
        # or more than the one above.
        def up_to(row, bound, below, above)
          bound.counter ? row[bound.counter].clamp(below, above) : below
        end
      end
    end
  end
end
