# frozen_string_literal: true

require "rbconfig"

module Powerband
  # Finds the command line tool, a Linux program in the gem of the platform.
  module Tool
    Missing = Class.new(StandardError)

    GEM = File.expand_path("../..", __dir__)
    # The platforms of which there is a gem with the program.
    BUILT_FOR = %w[x86_64-linux aarch64-linux].freeze

    class << self
      # The program's path. Raises Missing with the remedy.
      def find(env: ENV, platform: host)
        given = env["POWERBAND_BINARY"].to_s
        return given_program(given) unless given.empty?

        places(platform).find { |path| File.executable?(path) } || raise(Missing, remedy(platform))
      end

      private

      # As in the names of gems: the program is static, so glibc and musl systems use the same one.
      def host
        system = RbConfig::CONFIG["host_os"].start_with?("linux") ? "linux" : RbConfig::CONFIG["host_os"]
        "#{RbConfig::CONFIG['host_cpu'].sub(/\Aarm64\z/, 'aarch64')}-#{system}"
      end

      # In the platform's gem, or in PREFIX/bin when the gem is in PREFIX/share/powerband/gem.
      def places(platform)
        installed = File.expand_path("../../../bin/powerband", GEM) if GEM.end_with?("/share/powerband/gem")
        [File.join(GEM, "exe", platform, "powerband"), *installed]
      end

      def given_program(path)
        return path if File.file?(path) && File.executable?(path)

        raise Missing, "POWERBAND_BINARY = #{path}: there is no program; name the file of the tool, or unset the variable"
      end

      def remedy(platform)
        unless platform.end_with?("-linux")
          return "the tool runs on Linux, and this is #{platform}. Run it in a container or on the server; the agent in " \
                 "this gem does nothing here"
        end
        unless BUILT_FOR.include?(platform)
          return "there is no program for #{platform}, only for #{BUILT_FOR.join(' and ')}. Build it from the repository " \
                 "(make build), and name it with POWERBAND_BINARY"
        end
        "this is the gem without a program for #{platform}. Under Bundler: `bundle lock --add-platform #{platform}`, " \
          "then `bundle install`, with neither BUNDLE_FORCE_RUBY_PLATFORM nor `force_ruby_platform: true`.\n" \
          "Otherwise install the gem whose name ends in -#{platform}.gem, or name the program with POWERBAND_BINARY"
      end
    end
  end
end
