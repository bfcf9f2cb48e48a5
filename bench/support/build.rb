# frozen_string_literal: true

require "open3"

# What a benchmark builds before it begins; it ends where that fails.
module Build
  ROOT = File.expand_path("../..", __dir__)
  TARGET = ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target")

  module_function

  # An optimised package of this project.
  def release(bench, package, *more)
    run(bench, "cargo", "build", "--quiet", "--release", "--locked", "-p", package, *more)
  end

  # The path of the program, of POWERBAND_BINARY or built now, once the agent's extension is built too.
  def program_and_agent(bench)
    binary = ENV.fetch("POWERBAND_BINARY") do
      run(bench, "cargo", "build", "--quiet", "--release", "--locked", "--workspace", "--bins")
      "#{TARGET}/release/powerband"
    end
    run(bench, "ruby", "gem/ext/powerband/build.rb")
    binary
  end

  def run(bench, *command, chdir: ROOT)
    output, status = Open3.capture2e(*command, chdir:)
    abort "#{bench}: #{command.join(' ')} failed:\n#{output}" unless status.success?
  end
end
