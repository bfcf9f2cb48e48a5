# frozen_string_literal: true

require "rbconfig"

module Powerband
  # Finds the compiled extension. Always by absolute path where there is one, because Bundler takes the gem off the
  # load path of an application that does not name it.
  module Extension
    # The first with GVL events.
    LEAST_RUBY = [3, 2].freeze
    SUPPORTED = RUBY_ENGINE == "ruby" && (RUBY_VERSION.split(".").map(&:to_i) <=> LEAST_RUBY) >= 0

    class << self
      # Returns nil when the extension is loaded, else why it is not.
      def load
        return "Ruby #{RUBY_VERSION} (#{RUBY_ENGINE}) has no GVL events, which came with CRuby #{least}" unless SUPPORTED

        file = candidates.find { |path| File.file?(path) }
        require(file || "powerband/ext/#{target}/powerband")
        nil
      rescue LoadError, StandardError => e
        "its extension cannot be loaded (#{e.message}); compile it with: ruby #{build_script}"
      end

      def compiled
        File.join(__dir__, "ext", target, "powerband.so")
      end

      private

      def target
        "#{RbConfig::CONFIG['ruby_version']}-#{RbConfig::CONFIG['arch']}"
      end

      def least
        LEAST_RUBY.join(".")
      end

      def candidates
        given = ENV["POWERBAND_EXT"].to_s
        [(given unless given.empty?), compiled].compact
      end

      def build_script
        File.expand_path("../../ext/powerband/build.rb", __dir__)
      end
    end
  end
end
