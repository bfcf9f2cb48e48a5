# frozen_string_literal: true

require_relative "support/powerband"

# Configurations that differ in the version of a gem or in the Ruby: each has a bundle, and the application's files stay.
class UpgradeTest < PowerbandTest
  parallelize_me!

  VERSIONS = %w[1.0.0 2.0.0 2.0.1].freeze
  GEMFILE = <<~RUBY
    source "https://rubygems.org"
    gem "puma"
    gem "probe", "~> 1.0"
  RUBY
  CONFIG = <<~'RUBY'
    require "probe"
    File.write(ENV.fetch("RECORD"), "#{Gem.loaded_specs['probe'].version}\n", mode: "a")
    run(->(_) { sleep 0.02; [200, {}, [PROBE]] })
  RUBY

  def setup
    super
    install VERSIONS
    @app = File.join(@dir, "app")
    Dir.mkdir(@app)
    File.write(File.join(@app, "Gemfile"), GEMFILE)
    File.write(File.join(@app, "config.ru"), CONFIG)
    lock
  end

  def test_two_versions_of_a_gem
    before = files_of_the_bundle
    ended = measured("compare", "threads=1", "threads=1,gem.probe=2.0", *where)
    assert_equal 0, ended.code, ended.to_s
    assert_valid_run_document ended.out
    own, other = JSON.parse(ended.out).fetch("arms")
    refute own.key?("environment")
    assert_equal [{ "knob" => "gem.probe", "value" => "2.0", "variable" => 'gem "probe"', "holds" => "2.0.1" }],
                 other.fetch("environment")
    assert_equal %w[1.0.0 2.0.1], File.readlines(record, chomp: true).uniq.sort
    assert_equal before, files_of_the_bundle
  end

  def test_puma_needs_no_prefix
    version = Gem::Specification.find_by_name("puma").version.to_s
    ended = measured("compare", "threads=1", "threads=1,puma=#{version}", *where)
    assert_equal 0, ended.code, ended.to_s
    held = JSON.parse(ended.out).fetch("arms").last.fetch("environment")
    assert_equal [["gem.puma", version]], (held.map { |set| set.values_at("knob", "holds") })
  end

  def test_a_version_that_is_not_installed
    ended = powerband("compare", "threads=1", "threads=1,gem.probe=3", "threads=1,ruby=9.9", *where)
    assert_refused ended, 2, /gem\.probe=3: .*probe \(~> 3\.0\).*gem install probe --version '~> 3\.0'/,
                   /ruby = "9\.9": no such Ruby is installed/
    assert_no_run_folder
  end

  # RubyGems takes the newest.
  def test_a_command_that_does_not_use_the_bundle
    command = "puma -C {config} -b tcp://127.0.0.1:{port} -t {threads}:{threads} -w {workers}"
    ended = powerband("compare", "threads=1", "threads=1,gem.probe=1.0", "--server", command, *where)
    assert_equal 3, ended.code, ended.to_s
    assert_match(/gem\.probe = 1\.0\.0 was asked, the server runs with 2\.0\.1: the start command must .* bundle exec/, ended.err)
  end

  # The Gemfile names the Ruby of today.
  def test_a_ruby_that_the_gemfile_does_not_name
    File.write(File.join(@app, "Gemfile"), "#{GEMFILE}ruby '#{RUBY_VERSION}'\n")
    lock
    newer = File.join(@dir, "newer/ruby")
    Dir.mkdir(File.dirname(newer))
    # As if it were a later patch release.
    File.write(newer, <<~SHELL)
      #!/bin/sh
      exec #{RbConfig.ruby} -r#{@dir}/later "$@"
    SHELL
    File.chmod(0o755, newer)
    File.write(File.join(@dir, "later.rb"), "Object.send(:remove_const, :RUBY_VERSION)\nRUBY_VERSION = '#{RUBY_VERSION}9'\n")
    ended = measured("compare", "threads=1", "threads=1,ruby=#{newer}", *where)
    assert_equal 0, ended.code, ended.to_s
  end

  private

  def where
    ["--rehearse", "--json", "--app", @app, "--path", "/", "--runs", runs, "--env", "RECORD=#{record}"]
  end

  # Where the shell has it, Bundler finds the gems before the start as well.
  def start(*words, env: {}, **passed) = super(*words, env: { "GEM_PATH" => gem_path, **env }, **passed)

  def record = File.join(@dir, "record")

  def gem_path = [File.join(@dir, "gems"), *Gem.path].join(":")

  def files_of_the_bundle
    Dir.glob("{Gemfile*,.bundle/*}", base: @app).to_h { |name| [name, File.read(File.join(@app, name))] }
  end

  def lock
    FileUtils.rm_f(File.join(@app, "Gemfile.lock"))
    ended = finish(start("bundle", "lock", "--local", chdir: @app))
    assert_equal 0, ended.code, ended.to_s
  end

  # A gem in these versions, into a folder that the tests alone have.
  def install(versions)
    versions.each do |version|
      folder = File.join(@dir, "gems/gems/probe-#{version}/lib")
      specifications = File.join(@dir, "gems/specifications")
      FileUtils.mkdir_p([folder, specifications])
      File.write(File.join(folder, "probe.rb"), "PROBE = '#{version}'\n")
      File.write(File.join(specifications, "probe-#{version}.gemspec"), <<~RUBY)
        Gem::Specification.new do |spec|
          spec.name = "probe"
          spec.version = "#{version}"
          spec.summary = spec.name
          spec.authors = ["powerband"]
          spec.require_paths = ["lib"]
        end
      RUBY
    end
  end
end
