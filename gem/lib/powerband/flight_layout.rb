# frozen_string_literal: true

module Powerband
  # Where a flight file's sections lie, from its head: checked to be possible, so that no damaged file asks for a gigabyte.
  class FlightLayout
    # Not a flight file, or a damaged one.
    class Unusable < StandardError; end
    # One whose process has just begun, or died as it began.
    class BeingMade < StandardError; end

    # The part of the header that holds all this.
    HEAD = 512
    FIELD = 32
    # The counters by class of status, and the header's flag that they are there.
    STATUSES = %i[status_1xx status_2xx status_3xx status_4xx status_5xx].freeze
    COUNTS_STATUSES = 8
    # Likewise the counters of requests that take at most so long, where no bucket of the histogram ends.
    EDGES_NS = { wall_up_to_75ms: 75_000_000, wall_up_to_250ms: 250_000_000 }.freeze
    COUNTS_EDGES = 16
    MOST_BYTES = 1 << 26
    MAKING = 0
    LIVE = 1

    attr_reader :field_count, :fields, :endpoints, :endpoint_size, :endpoint_capacity, :totals, :totals_size

    def initialize(head)
      raise BeingMade, "the agent is still making this file" if head.start_with?("\0" * 8)
      raise Unusable, "it is no flight file" unless head.start_with?("PBFLIGHT")
      raise Unusable, "it ends inside its header" if head.bytesize < HEAD

      @version, @field_count, @fields, @endpoints, @endpoint_size, @endpoint_capacity, @totals, @totals_size, @state =
        head.unpack("x8L<x20L<2Q<L<2Q<L<2")
      raise BeingMade, "the agent is still making this file" if @state == MAKING
      raise Unusable, "its header contradicts itself: it is damaged" unless possible?
    end

    # The first byte after everything but the ring.
    def counters_end
      [@fields + (@field_count * FIELD), @totals + @totals_size, @endpoints + (@endpoint_size * @endpoint_capacity)].max
    end

    # As far as the file knows.
    def live?
      @state == LIVE
    end

    # Entries and totals have all that agent 0.1 counts.
    def wide?
      @endpoint_size >= 2048 && @totals_size >= 384
    end

    private

    def possible?
      @version.positive? && @field_count <= 1 << 10 && @endpoint_capacity <= 1 << 16 &&
        @endpoint_size.between?(1280, 1 << 16) && @totals_size.between?(104, 1 << 16) && counters_end <= MOST_BYTES
    end
  end
end
