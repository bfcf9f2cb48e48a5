# frozen_string_literal: true

# Makes a bundle for one configuration: the application's Gemfile with other versions of some gems, resolved among the
# gems that are installed. Runs in the application's folder, and writes into FOLDER alone.
#
#   ruby bundle.rb FOLDER [GEM=REQUIREMENT...]
#
# Prints JSON: `environment`, the variables that select the bundle, and `versions`, what Bundler activates of the gems.
# Without a gem, for a Ruby that the Gemfile allows, both are empty.

# Gemfiles print, too.
answer = $stdout.dup
$stdout.reopen($stderr)

require "bundler"
require "fileutils"
require "json"
require "open3"

File.umask(0o077)
folder, *pairs = ARGV
requirements = pairs.to_h { |pair| pair.split("=", 2) }
finish = lambda do |environment, versions|
  answer.puts JSON.generate(environment: environment, versions: versions)
  exit
end

def ruby_refused?
  Bundler.definition.validate_ruby!
  false
rescue Bundler::RubyVersionMismatch
  true
rescue Bundler::BundlerError
  # Whether the application starts all the same is for its trial to show.
  false
end

begin
  # `bundle config gemfile` comes before the environment.
  ENV["BUNDLE_GEMFILE"] = File.expand_path(Bundler.settings[:gemfile]) if Bundler.settings[:gemfile]
  gemfile = Bundler.default_gemfile
rescue Bundler::GemfileNotFound
  finish.call({}, {}) if requirements.empty?
  abort "there is no Gemfile in #{Dir.pwd}; write one, or leave gem.NAME out"
end
finish.call({}, {}) if requirements.empty? && !ruby_refused?

FileUtils.mkdir_p(folder)
File.write(File.join(folder, "Gemfile"), <<~RUBY)
  # The application's Gemfile with other versions, for one configuration of an experiment. Written by powerband.
  requirements = #{requirements.inspect}
  # Where a gem comes from; a version is looked for among the installed gems.
  sources = %i[git branch ref tag path glob submodules source] + @git_sources.keys.map(&:to_sym)
  named = []
  define_singleton_method(:gem) do |name, *arguments|
    named << name
    next super(name, *arguments) unless requirements.key?(name)

    options = arguments.last.is_a?(Hash) ? arguments.last.reject { |key, _| sources.include?(key.to_sym) } : {}
    source = @source
    @source = nil
    super(name, requirements[name], options)
    @source = source
  end
  # The configuration says which Ruby runs it, and the lock is next to this file.
  %i[ruby lockfile].each { |name| define_singleton_method(name) { |*| } }
  eval_gemfile #{gemfile.to_s.inspect}
  (requirements.keys - named).each { |name| gem(name, requirements[name]) }
RUBY
own_lock = Bundler.default_lockfile
lock = File.join(folder, "Gemfile.lock")
FileUtils.cp(own_lock, lock) if own_lock.file?

# Of the application's settings, which Bundler looks for next to the Gemfile, those that say which gems are found: others hold
# credentials. A path is relative to the application.
settings = File.join(folder, ".bundle")
FileUtils.mkdir_p(settings)
copied = Bundler::Settings.new(Pathname.new(settings))
%w[path.system disable_shared_gems with without only force_ruby_platform cache_path].each do |name|
  value = Bundler.settings[name]
  copied.set_local(name, Array(value).join(":")) unless value.nil? || value == [] || value == false
end
path = Bundler.settings.path.explicit_path
copied.set_local("path", File.expand_path(path, Bundler.root)) if path

# Bundler 4 tells what it starts where the lock is.
environment = { "BUNDLE_GEMFILE" => File.join(folder, "Gemfile"), "BUNDLE_LOCKFILE" => lock, "BUNDLE_APP_CONFIG" => settings }
# What a Bundler around powerband has set for its own bundle. The lock is not changed after this, so nothing has to be frozen.
around = %w[BUNDLE_FROZEN BUNDLE_DEPLOYMENT BUNDLE_BIN_PATH BUNDLER_VERSION BUNDLER_SETUP RUBYOPT]
alone = around.to_h { |name| [name, nil] }.merge(environment)

# What it prints of its progress is no part of an error.
output, errors, status = Open3.capture3(alone, RbConfig.ruby, "-S", "bundle", "lock", "--local")
abort errors.empty? ? output : errors unless status.success?

ask = "require 'json'; puts '', JSON.generate(ARGV.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] })"
output, errors, status = Open3.capture3(alone, RbConfig.ruby, "-rbundler/setup", "-e", ask, *requirements.keys)
abort errors unless status.success?

finish.call(environment, JSON.parse(output.lines.last))
