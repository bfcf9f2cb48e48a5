# frozen_string_literal: true

module Powerband
  class Setup
    # Loads what is asked for as if the application's first line did.
    module Libraries
      class << self
        # A path that begins with a dot is relative to the folder that the server runs in.
        def load(name)
          path = name.start_with?("./", "../") ? File.expand_path(name) : name
          refuse_before_bundler(name) unless path.start_with?("/")
          require path
          true
        rescue Refused
          raise
        rescue LoadError => e
          raise Refused, "#{name}: #{e.message}#{'; under Bundler only what the Gemfile names can be loaded' if bundler?}"
        rescue StandardError, ScriptError => e
          raise Refused, "#{name}: #{e.message} (#{e.class})"
        end

        # Of these gems; empty where one is not activated.
        def versions(gems)
          gems.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] }
        end

        private

        # A gem that RubyGems activates now, and the versions that it brings along, may be others than those of the
        # Gemfile, and then the application itself could not be loaded any more.
        def refuse_before_bundler(name)
          return if bundler? || gemfile.nil?

          raise Refused, "#{name}: #{gemfile} is not set up yet, and would meet other versions of its gems; " \
                         "start the server by `bundle exec`, or give the file's absolute path"
        end

        def bundler?
          $LOADED_FEATURES.any? { |path| path.end_with?("/bundler/setup.rb") }
        end

        def gemfile
          given = ENV["BUNDLE_GEMFILE"].to_s
          return given unless given.empty?

          %w[Gemfile gems.rb].find { |file| File.file?(file) }
        end
      end
    end
  end
end
