# frozen_string_literal: true

module Powerband
  # What this Ruby runs with, for comparisons of servers.
  module Runtime
    MAPS = "/proc/self/maps"
    ALLOCATOR = %r{/lib(jemalloc|tcmalloc|mimalloc)[^/]*\z}

    class << self
      # The library that takes the place of the system's malloc, or the system's. A mapped
      # path may be in any encoding, so the lines are read as bytes.
      def allocator(maps = MAPS)
        File.foreach(maps, chomp: true, mode: "rb") { |line| return Regexp.last_match(1) if line =~ ALLOCATOR }
        RbConfig::CONFIG["host_os"].to_s.include?("musl") ? "musl" : "glibc"
      rescue SystemCallError
        ""
      end

      def jit
        %i[YJIT ZJIT RJIT].find { |name| enabled?(name) }.to_s.downcase.then { |name| name.empty? ? "off" : name }
      end

      private

      def enabled?(name)
        defined?(::RubyVM) && ::RubyVM.const_defined?(name) && ::RubyVM.const_get(name).respond_to?(:enabled?) &&
          ::RubyVM.const_get(name).enabled?
      end
    end
  end
end
