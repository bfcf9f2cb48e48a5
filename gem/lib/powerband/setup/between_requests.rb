# frozen_string_literal: true

module Powerband
  class Setup
    # Collections that run while a process serves no request: which they are, and what is reported of them.
    module BetweenRequests
      private

      def collect_out_of_band(&)
        attach_collector(@out_of_band || OutOfBand.new(@asked.oob_gc) { report_again }, &)
      end

      # Without a place for it, majors stay where they are.
      def major_out_of_band(&)
        raise Refused, MajorOutOfBand.needs unless GC.respond_to?(:config)

        attach_collector(@out_of_band || MajorOutOfBand.new { report_again }, &)
        raise Refused, MajorOutOfBand.needs unless @minor_only
      end

      def attach_collector(out_of_band)
        yield out_of_band
        @out_of_band = out_of_band
        out_of_band.begin
        @minor_only = OutOfBand.minor_only
      end

      def figures_out_of_band
        major = @asked.oob_major? && @minor_only
        { oob_gc: @out_of_band ? @asked.oob_gc : 0, oob_gc_runs: @out_of_band&.runs || 0, oob_gc_minor_only: @minor_only,
          oob_major: major }
      end
    end
  end
end
