# frozen_string_literal: true

require "rails/generators"
require_relative "../../../powerband/tool"

module Powerband
  module Generators
    # `bin/rails generate powerband:install`: the commented powerband.toml that `powerband init` writes.
    class InstallGenerator < Rails::Generators::Base
      desc "Writes powerband.toml with the requests of the application's log or routes (powerband init)"

      def write_configuration
        # `bin/rails destroy`: the file may have been edited since.
        return say_status(:kept, "powerband.toml: delete it if you no longer need it", :yellow) if behavior == :revoke

        tool = Tool.find
        say_status :run, "powerband init"
        # Thor's options are this command's; with --force it replaces the file.
        words = [tool, "init", *("--force" if options[:force])]
        exit(1) if !options[:pretend] && !Bundler.with_original_env { system(*words, chdir: destination_root) }
      rescue Tool::Missing => e
        raise Thor::Error, "powerband: #{e.message}"
      end
    end
  end
end
