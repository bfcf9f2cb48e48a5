# frozen_string_literal: true

module Powerband
  class Metrics
    # Which places of a row its process measures: other places are in no sum, where a 0 would say "none".
    module Measured
      # A counter's field in the record, where the names differ.
      FIELDS = { requests: "wall_ns", server_errors: "wall_ns", queue_known: "queue_ns", pool_count: "pool_us",
                 busy_sum: "busy_threads", spans_known: "parse_us" }.freeze

      class << self
        # True or false for each place.
        def mask(file)
          FlightFile::NAMED.map { |name| counts?(file, name) } +
            %i[wall_ns gvl_wait_ns queue_ns].flat_map { |name| [measured?(file, name)] * FlightFile::BUCKETS }
        end

        # The same for what a process counts outside its requests.
        def process(file)
          gc = file.wide? && file.measures?("gc_ns")
          FlightFile::Process.members.map { |name| gc || !name.start_with?("gc_") }
        end

        private

        def counts?(file, name)
          if FlightLayout::STATUSES.include?(name) then flagged?(file, FlightLayout::COUNTS_STATUSES, "status")
          elsif FlightLayout::EDGES_NS.key?(name) then flagged?(file, FlightLayout::COUNTS_EDGES, "wall_ns")
          else
            measured?(file, name)
          end
        end

        def flagged?(file, flag, field)
          file.wide? && file.flags.anybits?(flag) && file.measures?(field)
        end

        # Agent 0.0 has a sum of queue times but no histogram, so that sum and count would not match.
        def measured?(file, name)
          more = FlightFile::MORE.include?(name)
          return false if !file.wide? && (more || name.start_with?("queue"))

          file.measures?(FIELDS.fetch(name) { more ? name.to_s.sub(/_ns\z/, "_us") : name.to_s })
        end
      end
    end
  end
end
