# frozen_string_literal: true

module Powerband
  class Setup
    # What is done to a heap once. Each raises where this Ruby cannot do it.
    module Heap
      class << self
        def warmup
          raise Refused, "Process.warmup needs Ruby 3.3, this is #{RUBY_VERSION}" unless Process.respond_to?(:warmup)

          Process.warmup
        end

        def compact
          raise Refused, "this Ruby has no GC.compact" unless GC.respond_to?(:compact)

          GC.compact
        end

        def auto_compact
          raise Refused, "this Ruby has no GC.auto_compact" unless GC.respond_to?(:auto_compact=)

          GC.auto_compact = true
        end
      end
    end
  end
end
