# frozen_string_literal: true

module Powerband
  class Metrics
    # Prometheus' text format, version 0.0.4.
    class Text
      ESCAPES = { "\\" => "\\\\", "\"" => "\\\"", "\n" => "\\n" }.freeze
      SECOND = 1_000_000_000

      # Label pairs as they stand between braces; those without a name or a value are left out.
      def self.labels(pairs)
        pairs.filter_map { |name, value| "#{name}=\"#{value.gsub(/[\\"\n]/, ESCAPES)}\"" if name && value }.join(",")
      end

      # Exact, and without zeros at the end.
      def self.seconds(nanoseconds)
        whole, rest = nanoseconds.divmod(SECOND)
        rest.zero? ? whole.to_s : "#{whole}.#{rest.to_s.rjust(9, '0').sub(/0+\z/, '')}"
      end

      def initialize
        @text = +""
      end

      # A family with the samples that the block adds; without any there is none.
      def family(name, type, help, prefix: "powerband_")
        @name = "#{prefix}#{name}"
        @head = "# HELP #{@name} #{help}\n# TYPE #{@name} #{type}\n"
        yield
      end

      # A value that is nil was not measured.
      def sample(labels, value, suffix = nil)
        return unless value

        if @head
          @text << @head
          @head = nil
        end
        labels = "{#{labels}}" unless labels.empty?
        @text << "#{@name}#{suffix}#{labels} #{value}\n"
      end

      def to_s
        @text
      end
    end
  end
end
