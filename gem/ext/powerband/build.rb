# frozen_string_literal: true

# Compiles the extension with nothing but Ruby's own mkmf, a compiler and make, and prints where the result is.
#
#   ruby gem/ext/powerband/build.rb [FOLDER]
#
# FOLDER is gem/lib/powerband/ext/<ruby_version>-<arch> unless given. The build happens in a folder of its own and
# the result is renamed into place, so that several may run at once and no reader ever sees half a file.

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

target = "#{RbConfig::CONFIG['ruby_version']}-#{RbConfig::CONFIG['arch']}"
folder = File.expand_path(ARGV.fetch(0) { File.expand_path("../../lib/powerband/ext/#{target}", __dir__) })

# The compiling Ruby must not load the agent, nor what a caller injected.
environment = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "MAKEFLAGS" => nil }
run = lambda do |*command, chdir:|
  output, status = Open3.capture2e(environment, *command, chdir: chdir)
  next if status.success?

  log = File.join(chdir, "mkmf.log")
  warn output
  warn File.read(log).lines.last(40).join if command.include?("extconf.rb") && File.exist?(log)
  abort "powerband: `#{command.join(' ')}` failed; it needs a C compiler, make and Ruby's headers (ruby-dev)"
end

Dir.mktmpdir("powerband-build-") do |build|
  FileUtils.cp(Dir[File.join(__dir__, "*.{c,h}")] + [File.join(__dir__, "extconf.rb")], build)
  run.call(RbConfig.ruby, "extconf.rb", chdir: build)
  run.call("make", "V=0", chdir: build)
  built = File.join(build, "powerband.so")
  abort "powerband: Ruby #{RUBY_VERSION} (#{RUBY_ENGINE}) has no GVL events: 3.2 or newer is needed" unless File.exist?(built)

  FileUtils.mkdir_p(folder)
  result = File.join(folder, "powerband.so")
  staged = "#{result}.#{Process.pid}"
  FileUtils.cp(built, staged)
  File.rename(staged, result)
  puts result
end
