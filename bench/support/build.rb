# frozen_string_literal: true

require "open3"

# What a benchmark builds before it begins; it ends where that fails.
module Build
  ROOT = File.expand_path("../..", __dir__)

  module_function

  # An optimised package of this project.
  def release(bench, package, *more)
    run(bench, "cargo", "build", "--quiet", "--release", "--locked", "-p", package, *more)
  end

  def run(bench, *command, chdir: ROOT)
    output, status = Open3.capture2e(*command, chdir:)
    abort "#{bench}: #{command.join(' ')} failed:\n#{output}" unless status.success?
  end
end
