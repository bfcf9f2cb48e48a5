# frozen_string_literal: true

module Powerband
  class Setup
    # What the variables ask for. A value that cannot be used is listed in `errors` under the name of its subject, and the
    # setting it was for is left out.
    class Asked
      PREFIX = "POWERBAND_SETUP_"
      SWITCHES = %w[WARMUP COMPACT AUTO_COMPACT GC_PROFILER OOB_MAJOR].freeze
      KNOWN = (SWITCHES + %w[LEAK OOB_GC REQUIRE VERSIONS]).freeze
      OOB_RANGE = (0..1_000_000)

      attr_reader :oob_gc, :libraries, :gems, :leak, :errors

      def initialize(env = ENV)
        @errors = []
        @env = env
        @on = SWITCHES.to_h { |name| [name, switch(name)] }
        @oob_gc = every
        one_out_of_band
        @libraries = list("REQUIRE")
        @gems = list("VERSIONS")
        @leak = text("LEAK")
        unknown
      end

      SWITCHES.each { |name| define_method(:"#{name.downcase}?") { @on.fetch(name) } }

      private

      def text(name)
        @env["#{PREFIX}#{name}"].to_s.scrub
      end

      def list(name)
        text(name).split(",").map(&:strip).reject(&:empty?)
      end

      def switch(name)
        text = text(name)
        return false if text.empty?

        Config::SWITCH.fetch(text.downcase) do
          wrong(name, "it must be 1 or 0; it is left out")
          false
        end
      end

      def every
        text = text("OOB_GC")
        return 0 if text.empty?

        number = Integer(text, 10, exception: false)
        return number if number && OOB_RANGE.cover?(number)

        wrong("OOB_GC", "it must be N, for once after N requests, from 1 to 1000000, or 0; it is left out")
        0
      end

      # Each decides when the collector runs.
      def one_out_of_band
        return unless oob_major? && @oob_gc.positive?

        wrong("OOB_GC", "OOB_MAJOR is on, which collects when Ruby needs it; it is left out")
        @oob_gc = 0
      end

      # The program that asks may be newer than this agent, or have mistyped the name.
      def unknown
        names = @env.keys.select { |name| name.start_with?(PREFIX) }.map { |name| name.delete_prefix(PREFIX) }
        (names - KNOWN).sort.each { |name| wrong(name, "there is no such variable; there are #{KNOWN.join(', ')}") }
      end

      def wrong(name, why)
        @errors << [name.scrub.downcase, "#{PREFIX}#{name.scrub}=#{text(name)}: #{why}"]
      end
    end
  end
end
