# frozen_string_literal: true

module Powerband
  class Metrics
    # Sums and gauges as text: the same bytes as those of `powerband inspect --prometheus`.
    class Exposition
      # Which buckets each bound adds to the one before it, and its label.
      EDGES = Families::EXPONENTS
              .map { |e| [e == 8 ? 0...28 : (4 * (e - 2))...(4 * (e - 1)), Text.seconds((2**e) * 1000)] }
              .push([96...FlightFile::BUCKETS, "+Inf"]).map { |range, le| [range, Text.labels("le" => le)] }.freeze
      STATES = Families::STATES.map { |state, key| [Text.labels("state" => state), key] }.freeze
      PLACE = FlightFile::NAMED.each_with_index.to_h.freeze

      def initialize(sums, gauges, limit, opentelemetry: false)
        @sums = sums
        @gauges = gauges
        @limit = limit
        @opentelemetry = opentelemetry
        @shown = {}
        @text = Text.new
      end

      def to_s
        Families::GROUPS.each { |group| group(group) }
        responses
        OpenTelemetry.write(@text, @sums, shown(:request).keys) if @opentelemetry
        overall
        process
        Gauges::Lines.new(@gauges, @text).write
        @text.to_s
      end

      private

      def group(group)
        rows = group.label ? labelled(group) : all(group)
        Families::PLAIN.each do |name, help, key|
          family(group, name, "counter", help) { rows.each { |labels, row| @text.sample(labels, value(row, key)) } }
        end
        family(group, :states, "counter", Families::STATES_HELP) { states(rows) }
        Families::HISTOGRAMS.each do |name, help, buckets, sum|
          Pace.give_way
          family(group, name, "histogram", help) { rows.each { |labels, row| histogram(labels, row[buckets], value(row, sum)) } }
        end
      end

      def family(group, name, type, help, &block)
        @text.family(group.names.fetch(name), type, group.help(help), &block)
      end

      def all(group)
        sum = @sums.of_all(group.kind)
        sum.empty? ? {} : { "" => sum }
      end

      def labelled(group)
        shown(group.kind).transform_keys { |name| Text.labels(group.label => name) }
      end

      def shown(kind)
        @shown[kind] ||= by_name(kind)
      end

      # The endpoints with the most requests, and the requests for which processes had no entry left. An endpoint that is
      # no longer among them has no series; the sums over all requests include it.
      def by_name(kind)
        rows = @sums.by_name(kind)
        rows.select! { |_, row| requests(row).positive? }
        other = rows.delete(Sums::OTHER)
        shown = rows.min_by(@limit) { |name, row| [-requests(row), name.b] }
        shown << [Sums::OTHER, other] if other
        shown.sort_by { |name, _| name.b }.to_h
      end

      def requests(row)
        row[PLACE[:requests]].to_i
      end

      def states(rows)
        rows.each { |labels, row| STATES.each { |state, key| @text.sample(join(labels, state), value(row, key)) } }
      end

      def histogram(labels, counts, sum)
        return unless sum && counts.first

        below = 0
        EDGES.each { |range, edge| @text.sample(join(labels, edge), below += counts[range].sum, "_bucket") }
        @text.sample(labels, sum, "_sum")
        @text.sample(labels, below, "_count")
      end

      # Of requests alone: a job has no status.
      def responses
        row = @sums.of_all(:request)
        @text.family("responses_total", "counter", Families::RESPONSES_HELP) do
          Families::RESPONSES.each { |name, key| @text.sample(Text.labels("class" => name), value(row, key)) } unless row.empty?
        end
      end

      def overall
        row = @sums.totals.to_a
        Families::OVERALL.each do |name, help, label, counters|
          @text.family(name, "counter", help) do
            counters.each { |word, key| @text.sample(Text.labels(label => word), value(row, key)) }
          end
        end
      end

      def process
        counted = FlightFile::Process.members.zip(@sums.process.to_a).to_h
        Families::PROCESS.each do |name, help, key|
          @text.family(name, "counter", help) { @text.sample("", number(counted[key], key)) }
        end
      end

      def value(row, key)
        number(row[PLACE.fetch(key)], key)
      end

      def number(value, key)
        value && key.end_with?("_ns") ? Text.seconds(value) : value
      end

      def join(labels, more)
        labels.empty? ? more : "#{labels},#{more}"
      end
    end
  end
end
