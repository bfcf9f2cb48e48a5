# frozen_string_literal: true

# Makes a bundle for one configuration: the application's Gemfile with other versions of some gems, resolved among the
# gems that are installed. Runs in the application's folder, and writes into FOLDER alone.
#
#   ruby bundle.rb FOLDER [GEM=REQUIREMENT...]
#
# Prints JSON: `environment`, the variables that select the bundle, and `versions`, what Bundler activates of the gems.
# Without a gem, for a Ruby that the Gemfile allows, both are empty.

require "bundler"
require "fileutils"
require "json"
require "open3"

folder, *pairs = ARGV
requirements = pairs.to_h { |pair| pair.split("=", 2) }

def finish(environment, versions)
  puts JSON.generate(environment: environment, versions: versions)
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
  gemfile = Bundler.default_gemfile
rescue Bundler::GemfileNotFound
  finish({}, {}) if requirements.empty?
  abort "there is no Gemfile in #{Dir.pwd}"
end
finish({}, {}) if requirements.empty? && !ruby_refused?

# Where a gem comes from; a version is looked for among the installed gems.
SOURCES = %i[git github gist bitbucket branch ref tag path glob submodules source].freeze

FileUtils.mkdir_p(folder)
File.write(File.join(folder, "Gemfile"), <<~RUBY)
  # The application's Gemfile with other versions, for one configuration of an experiment. Written by powerband.
  requirements = #{requirements.inspect}
  named = []
  define_singleton_method(:gem) do |name, *arguments|
    named << name
    next super(name, *arguments) unless requirements.key?(name)

    options = arguments.last.is_a?(Hash) ? arguments.last.reject { |key, _| #{SOURCES.inspect}.include?(key.to_sym) } : {}
    super(name, requirements[name], options)
  end
  # The configuration says which Ruby runs it.
  define_singleton_method(:ruby) { |*| }
  eval_gemfile #{gemfile.to_s.inspect}
  (requirements.keys - named).each { |name| gem(name, requirements[name]) }
RUBY
lock = Bundler.default_lockfile
FileUtils.cp(lock, File.join(folder, "Gemfile.lock")) if lock.file?

# The application's settings, such as where its gems are, which Bundler looks for next to the Gemfile.
settings = File.join(folder, ".bundle")
FileUtils.mkdir_p(settings)
own = Bundler.app_config_path.join("config")
FileUtils.cp(own, settings) if own.file?
path = Bundler.settings.path.explicit_path
copied = Bundler::Settings.new(Pathname.new(settings))
# Relative to the application. Its lock is not changed, so that nothing has to be frozen.
copied.set_local("path", File.expand_path(path, Bundler.root)) if path
%w[frozen deployment].each { |name| copied.set_local(name, nil) }

environment = { "BUNDLE_GEMFILE" => File.join(folder, "Gemfile"), "BUNDLE_APP_CONFIG" => settings }
alone = { **environment, "BUNDLE_FROZEN" => nil, "BUNDLE_DEPLOYMENT" => nil, "RUBYOPT" => nil }

output, status = Open3.capture2e(alone, RbConfig.ruby, "-S", "bundle", "lock", "--local")
abort output unless status.success?

ask = "require 'json'; puts JSON.generate(ARGV.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] })"
output, errors, status = Open3.capture3(alone, RbConfig.ruby, "-rbundler/setup", "-e", ask, *requirements.keys)
abort errors unless status.success?

finish(environment, JSON.parse(output))
