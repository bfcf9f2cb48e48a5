# frozen_string_literal: true

module Powerband
  class Metrics
    # A scrape is long work in Ruby inside a process that serves. A request served meanwhile waits for no more than a slice
    # of it; and the scrape does not give way more often, because each time may cost it the others' whole quantum.
    module Pace
      SLICE_S = 0.01

      @since_s = 0.0

      class << self
        # To be called between small parts of the work.
        def give_way
          return if now - @since_s < SLICE_S

          Thread.pass
          @since_s = now
        end

        private

        def now
          ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
