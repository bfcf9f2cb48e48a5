# frozen_string_literal: true

require "open3"
require_relative "support/powerband"

# The packages of `script/package`, installed as their users install them, each to a verdict.
class PackagesTest < PowerbandTest
  parallelize_me!

  PLATFORM = "#{RbConfig::CONFIG['host_cpu']}-linux".freeze
  VERSION = File.read(File.join(ROOT, "gem/lib/powerband/version.rb"))[/VERSION = "(.+)"/, 1]
  # Where the files that a server loads are, as the server's Ruby sees them.
  LOADED = "print $LOADED_FEATURES.grep(/powerband.inject/).first, ' ', ENV['POWERBAND_EXT']"

  BUILDING = Mutex.new

  # The same program for all tests, without symbols, as it is shipped.
  def self.packages
    BUILDING.synchronize { @packages ||= build }
  end

  def self.build
    Dir.mktmpdir("powerband-packages-").tap do |folder|
      Minitest.after_run { FileUtils.remove_entry(folder) }
      program = File.join(folder, "powerband")
      system("strip", "-o", program, BINARY) || raise("cannot strip #{BINARY}")
      output, status = Open3.capture2e(File.join(ROOT, "script/package"), PLATFORM, program, File.join(folder, "out"))
      raise output unless status.success?
    end
  end
  private_class_method :build

  def test_the_gem_of_the_platform_brings_the_tool_and_its_compiled_agent
    home = File.join(@dir, "home")
    run_to_end("gem", "install", "--local", "--no-document", "--install-dir", home, gem_of(PLATFORM))
    env = { "GEM_HOME" => home, "GEM_PATH" => home }
    assert_equal "powerband #{VERSION}\n", run_to_end("#{home}/bin/powerband", "--version", env: env)
    inject, extension = run_to_end("#{home}/bin/powerband", "run", "--", "ruby", "-e", LOADED, env: env).split
    assert_operator inject, :start_with?, "#{home}/gems/"
    assert_operator extension, :start_with?, "#{home}/gems/"
    assert_path_exists "#{home}/gems/powerband-#{VERSION}-#{PLATFORM}/THIRD-PARTY.txt"
  end

  def test_bundle_exec_tunes_the_application_whose_gemfile_names_the_gem
    application = with_bundle(gem_of(PLATFORM))
    assert_verdict run_to_end("bundle", "exec", "powerband", *rehearsal, chdir: application)
  end

  def test_a_bundle_of_the_gem_for_every_platform_has_the_agent_and_says_how_to_have_the_tool
    application = with_bundle(gem_of(nil))
    out, err, status = capture("bundle", "exec", "powerband", "--version", chdir: application)
    assert_equal [1, ""], [status.exitstatus, out]
    assert_match(/bundle lock --add-platform #{PLATFORM}/, err)
    available = "require 'powerband'; print Powerband::Native.available?"
    assert_equal "true", run_to_end("bundle", "exec", "ruby", "-e", available, chdir: application)
  end

  def test_the_tarball_is_a_whole_installation_wherever_it_lies
    run_to_end("tar", "-xzf", File.join(out, "powerband-#{VERSION}-#{PLATFORM}.tar.gz"), "-C", @dir)
    top = File.join(@dir, "powerband-#{VERSION}-#{PLATFORM}")
    assert_equal %w[LICENSE README.md THIRD-PARTY.txt bin docs share], Dir.children(top).sort
    assert_path_exists File.join(top, "docs/load.md")
    assert_equal File.join(top, "share/powerband/gem/lib/powerband/inject.rb"), loaded_by("#{top}/bin/powerband").first
    assert_completions File.join(top, "share"), zsh: "zsh/site-functions"
    assert_monitoring File.join(top, "share")
  end

  def test_the_program_alone_is_enough
    program = File.join(@dir, "powerband")
    FileUtils.cp(File.join(self.class.packages, "powerband"), program)
    inject, extension = loaded_by(program)
    assert_operator inject, :start_with?, File.join(@dir, "cache/powerband/gem-")
    assert_operator extension, :start_with?, File.join(@dir, "cache/powerband/")
    copy = Dir[File.join(@dir, "cache/powerband/gem-*")].fetch(0)
    spec = Gem::Specification.load(File.join(ROOT, "gem/powerband.gemspec"))
    assert_equal (spec.files - ["exe/powerband"]).sort, files_of(copy)
    assert_verdict run_to_end(program, *rehearsal, chdir: hello)
  end

  def test_the_debian_package_installs_and_is_removed_without_a_trace
    skip "only root can install a package, into whatever folder" unless Process.uid.zero?
    root = File.join(@dir, "root")
    FileUtils.mkdir_p(File.join(root, "var/lib/dpkg/updates"))
    FileUtils.touch(File.join(root, "var/lib/dpkg/status"))
    run_to_end("dpkg", "--root=#{root}", "--install", debian)
    tool = "#{root}/usr/bin/powerband"
    assert_equal "#{root}/usr/share/powerband/gem/lib/powerband/inject.rb", loaded_by(tool).first
    unit = File.read("#{root}/usr/lib/systemd/system/powerband-mirror.service")
    assert_match %r{^ExecStart=/usr/bin/powerband mirror}, unit
    assert_match %r{\A# Write /etc/powerband/mirror.toml}, unit
    exporter = File.read("#{root}/usr/lib/systemd/system/powerband-export.service")
    assert_match(/\A# Set User= and POWERBAND_DIR/, exporter)
    assert_monitoring "#{root}/usr/share"
    assert_path_exists "#{root}/usr/share/man/man1/powerband-tune.1.gz"
    assert_completions "#{root}/usr/share", zsh: "zsh/vendor-completions"
    licences = %w[LICENSE packaging/THIRD-PARTY.txt].map { |name| File.read(File.join(ROOT, name)) }
    assert_equal licences.join("\n"), File.read("#{root}/usr/share/doc/powerband/copyright")
    assert_verdict run_to_end(tool, *rehearsal, chdir: hello)
    run_to_end("dpkg", "--root=#{root}", "--purge", "powerband")
    assert_empty Dir[File.join(root, "**/*powerband*")].reject { |path| path.start_with?("#{root}/var/log") }
  end

  def test_the_same_commit_and_program_give_the_same_bytes
    small = File.join(@dir, "small")
    File.write(small, "#!/bin/sh\nexec #{BINARY} \"$@\"\n", perm: 0o755)
    sums = %w[one two].map do |name|
      folder = File.join(@dir, name)
      run_to_end(File.join(ROOT, "script/package"), PLATFORM, small, folder)
      run_to_end("sha256sum", "--check", "--quiet", "SHA256SUMS", chdir: folder)
      File.read(File.join(folder, "SHA256SUMS"))
    end
    assert_equal sums.first, sums.last
    assert_equal 4, sums.first.lines.size
  end

  private

  def files_of(folder)
    Dir.glob("**/*", File::FNM_DOTMATCH, base: folder).select { |name| File.file?(File.join(folder, name)) }.sort
  end

  def out
    File.join(self.class.packages, "out")
  end

  def gem_of(platform)
    File.join(out, "#{['powerband', VERSION, platform].compact.join('-')}.gem")
  end

  def debian
    Dir[File.join(out, "*.deb")].fetch(0)
  end

  def hello
    File.join(APPS, "hello")
  end

  # An application with its bundle, installed from vendor/cache without a network.
  def with_bundle(gem)
    application = File.join(@dir, "application")
    FileUtils.mkdir_p(File.join(application, "vendor/cache"))
    FileUtils.cp(gem, File.join(application, "vendor/cache"))
    File.write(File.join(application, "config.ru"), %(run ->(_env) { [200, { "content-type" => "text/plain" }, ["ok"]] }\n))
    File.write(File.join(application, "Gemfile"), <<~RUBY)
      source "https://rubygems.org"
      gem "puma"
      gem "rack"
      gem "powerband", group: :development
    RUBY
    run_to_end("bundle", "install", "--local", "--no-cache", chdir: application)
    application
  end

  # A whole experiment of which every trial is a fraction of a second.
  def rehearsal
    ["compare", "threads=1", "threads=2", "--path", "/", "--rehearse", "--runs", runs]
  end

  def assert_verdict(page)
    assert_match(/single × 2 threads/, page)
    assert_equal "done", document.fetch("state")
  end

  def assert_completions(share, zsh:)
    ["bash-completion/completions/powerband", "#{zsh}/_powerband", "fish/vendor_completions.d/powerband.fish"].each do |name|
      assert_operator File.size(File.join(share, name)), :>, 0, name
    end
  end

  # The rules and dashboards as they are in the repository.
  def assert_monitoring(share)
    ours = File.join(ROOT, "packaging/monitoring")
    shipped = File.join(share, "powerband/monitoring")
    assert_equal files_of(ours), files_of(shipped)
    files_of(ours).each { |name| assert_equal File.read(File.join(ours, name)), File.read(File.join(shipped, name)), name }
  end

  def loaded_by(tool)
    run_to_end(tool, "run", "--", "ruby", "-e", LOADED).split
  end

  def run_to_end(*command, **options)
    out, err, status = capture(*command, **options)
    assert_predicate status, :success?, "#{command.join(' ')}\n#{out}#{err}"
    out
  end

  def capture(*command, env: {}, chdir: @dir)
    own = { "XDG_CACHE_HOME" => File.join(@dir, "cache"), "POWERBAND_DIR" => File.join(@dir, "flights"),
            "GEM_HOME" => File.join(@dir, "home"), "GEM_PATH" => nil, "BUNDLE_USER_HOME" => File.join(@dir, "bundle") }
    Open3.capture3(clean_environment.merge(own).merge(env), *command, chdir: chdir)
  end
end
