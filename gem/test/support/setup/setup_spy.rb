# frozen_string_literal: true

# Loaded into a server by RUBYOPT: writes down which process warmed up and compacted its heap, and whether the application
# was loaded by then. SPY_RAISES: Process.warmup raises. Ruby 3.2 has none.
module SetupSpy
  SEEN = { "warmup" => [], "compact" => [], "order" => [] } # rubocop:disable Style/MutableConstant

  module Warmup
    def warmup
      raise "no warmth today" if ENV["SPY_RAISES"]

      SetupSpy::SEEN["warmup"] << [pid, SetupSpy::SEEN["order"].include?("application") ? "loaded" : "not loaded"]
      super
    end
  end

  module Compact
    def compact(...)
      SetupSpy::SEEN["compact"] << Process.pid
      super
    end
  end

  Process.singleton_class.prepend(Warmup) if Process.respond_to?(:warmup)
  GC.singleton_class.prepend(Compact)
end
