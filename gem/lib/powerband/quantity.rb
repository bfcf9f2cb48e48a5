# frozen_string_literal: true

module Powerband
  # Durations and sizes with units, as the command line takes them. Any other text is nil.
  module Quantity
    SECONDS = { "s" => 1, "sec" => 1, "m" => 60, "min" => 60, "h" => 3600, "hour" => 3600, "hours" => 3600,
                "d" => 86_400, "day" => 86_400, "days" => 86_400, "w" => 604_800, "week" => 604_800,
                "weeks" => 604_800 }.freeze
    BYTES = { "b" => 1, "kb" => 1000, "mb" => 1000**2, "gb" => 1000**3, "tb" => 1000**4, "kib" => 1024, "mib" => 1024**2,
              "gib" => 1024**3, "tib" => 1024**4 }.freeze
    WITHOUT_END = %w[off].freeze

    class << self
      # "7d", "36h", "1d 12h"; "off" is for ever.
      def seconds(text)
        return Float::INFINITY if WITHOUT_END.include?(text.downcase)
        return unless text.match?(/\A(?:\s*\d+\s*[a-z]+)+\s*\z/)

        parts = text.scan(/(\d+)\s*([a-z]+)/).map { |number, unit| SECONDS[unit] && (Integer(number, 10) * SECONDS[unit]) }
        parts.sum if parts.all?
      end

      # "256MiB", "1.5 GB"; "off" is without limit.
      def bytes(text)
        return Float::INFINITY if WITHOUT_END.include?(text.downcase)

        number, unit = text.downcase.match(/\A\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*\z/)&.captures
        (Rational(number) * BYTES[unit]).round if BYTES.key?(unit)
      end
    end
  end
end
