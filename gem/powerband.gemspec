# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "powerband"
  # Read, not loaded: Bundler evaluates this in an application that may run another version of the agent.
  spec.version = File.read(File.join(__dir__, "lib/powerband/version.rb"))[/VERSION = "(.+)"/, 1]
  spec.authors = ["The Powerband authors"]
  spec.summary = "Finds the processes, threads and settings that a Ruby server runs best with"
  spec.description = "The command line tool `powerband`, in the gems of Linux platforms, and the agent: per request queue " \
                     "time, GVL held, GVL wait, I/O, CPU and allocations, in a memory-mapped file that any process of the " \
                     "same user can read."
  spec.license = "MIT"

  # On a Ruby older than 3.2, or another engine, the gem installs and does nothing, saying so once.
  spec.required_ruby_version = ">= 2.7"
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.rb", "ext/powerband/*.{c,h,rb}", "exe/powerband", "LICENSE"]
  end
  spec.bindir = "exe"
  spec.executables = ["powerband"]
  spec.require_paths = ["lib"]
  spec.extensions = ["ext/powerband/extconf.rb"]
  spec.metadata["rubygems_mfa_required"] = "true"
end
