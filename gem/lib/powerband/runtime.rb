# frozen_string_literal: true

module Powerband
  # What this Ruby runs with, for comparisons of servers.
  module Runtime
    MAPS = "/proc/self/maps"
    ALLOCATOR = %r{/lib(jemalloc|tcmalloc|mimalloc)[^/]*\z}
    # Variables that Ruby and malloc read as they start; none holds a secret.
    OF_MEMORY = /\A(?:RUBY_GC_\w+|RUBY_HEAP_MIN_SLOTS|RUBY_FREE_MIN|MALLOC_ARENA_MAX|MALLOC_CONF|RUBY_YJIT_ENABLE)=/n
    # What a flight file has room for.
    MOST_BYTES = 1279
    REST = "…".b.freeze

    class << self
      # The library that takes the place of the system's malloc, or the system's. A mapped
      # path may be in any encoding, so the lines are read as bytes.
      def allocator(maps = MAPS)
        File.foreach(maps, chomp: true, mode: "rb") { |line| return Regexp.last_match(1) if line =~ ALLOCATOR }
        RbConfig::CONFIG["host_os"].to_s.include?("musl") ? "musl" : "glibc"
      rescue SystemCallError
        ""
      end

      # `none` where this Ruby has no YJIT that could be switched on.
      def jit
        enabled = %i[YJIT ZJIT RJIT].find { |name| enabled?(name) }
        return enabled.to_s.downcase if enabled

        defined?(::RubyVM::YJIT) ? "off" : "none"
      end

      # The variables of memory that the process was started with, a line each; the last line is `…` where some do not fit.
      # A process title overwrites the initial environment with zeros or with its own end; then Ruby's present one counts.
      def variables(environ = initial_environment)
        environ = ENV.map { |assignment| assignment.join("=") }.join("\0").b unless environ&.match?(/\A\w+=/n)
        lines = environ.split("\0").grep(OF_MEMORY).reject { |line| line.include?("\n") }
        text = lines.join("\n")
        text = [*lines.tap(&:pop), REST].join("\n") while text.bytesize > MOST_BYTES
        text
      end

      private

      # Not readable for a process that has changed its user.
      def initial_environment
        File.binread("/proc/self/environ")
      rescue SystemCallError
        nil
      end

      def enabled?(name)
        defined?(::RubyVM) && ::RubyVM.const_defined?(name) && ::RubyVM.const_get(name).respond_to?(:enabled?) &&
          ::RubyVM.const_get(name).enabled?
      end
    end

    # Read as this file is loaded, before a server gives its process a title.
    VARIABLES = variables.freeze
  end
end
