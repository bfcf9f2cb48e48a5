# frozen_string_literal: true

module Powerband
  # The markers of processes that could not make their flight files (contract/flight-v1.md, "A process without a flight
  # file"). A process holds a lock on its marker for as long as it runs.
  module Unrecorded
    NAME = /\A\d+-\d+-\h{8}\.unrecorded-(E[A-Z0-9]+)\z/
    # A start must not wait for a folder of any size.
    AT_MOST_S = 0.1

    class << self
      # How many running processes have no flight file, by the name of the error.
      def by_reason(folder)
        markers(folder).select { |path| held?(path) }.map { |path| File.basename(path)[NAME, 1] }.tally.sort.to_h
      end

      # Removes the markers that processes have left which were killed.
      def sweep(folder)
        ends = now + AT_MOST_S
        markers(folder).each do |path|
          break if now > ends

          File.unlink(path) if held?(path) == false
        rescue Errno::ENOENT
          nil # removed by another process meanwhile
        end
      end

      private

      def markers(folder)
        Dir.children(folder).grep(NAME).map { |name| File.join(folder, name) }
      rescue Errno::ENOENT
        []
      end

      # nil where that cannot be seen.
      def held?(path)
        Liveness.locked?(path)
      rescue SystemCallError
        nil
      end

      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
