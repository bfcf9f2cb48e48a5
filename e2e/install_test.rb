# frozen_string_literal: true

require "open3"
require_relative "support/powerband"

# `make install` into a folder of the test: it ships what runs and nothing else.
class InstallTest < PowerbandTest
  def test_the_installed_tool_is_stripped_and_brings_the_gem_without_its_tests
    run_to_end("make", "--silent", "-C", ROOT, "-o", "build", "install", "DESTDIR=#{root}", "PREFIX=/usr", "POWERBAND=#{BINARY}")
    gem = File.join(root, "usr/share/powerband/gem")
    shipped = Dir.glob("**/*", File::FNM_DOTMATCH, base: gem).select { |name| File.file?(File.join(gem, name)) }
    spec = Gem::Specification.load(File.join(ROOT, "gem/powerband.gemspec"))
    assert_equal ["powerband.gemspec", *spec.files].sort, shipped.sort
    assert_empty shipped.grep(/test|tmp|\.(so|o)\z/)
    assert_empty sections(installed).grep(/\.(debug_info|debug_line|symtab)\b/)
    %w[powerband.1 powerband-tune.1].each { |page| assert_path_exists File.join(root, "usr/share/man/man1", page) }
    completions = %w[bash-completion/completions/powerband zsh/site-functions/_powerband fish/vendor_completions.d/powerband.fish]
    completions.each { |name| assert_operator File.size(File.join(root, "usr/share", name)), :>, 0, name }
    assert_equal gem, gem_of_the_installed_tool
  end

  private

  def root
    File.join(@dir, "root")
  end

  def installed
    File.join(root, "usr/bin/powerband")
  end

  def sections(file)
    IO.popen(["readelf", "--section-headers", "--wide", file], &:readlines)
  end

  def gem_of_the_installed_tool
    asks = "print $LOADED_FEATURES.grep(/powerband.inject/).first[%r{.*/gem}]"
    run_to_end(installed, "run", "--", "ruby", "-e", asks)
  end

  def run_to_end(*command)
    env = { "XDG_CACHE_HOME" => File.join(@dir, "cache"), "POWERBAND_DIR" => File.join(@dir, "flights") }
    out, err, status = Open3.capture3(env, *command)
    assert_predicate status, :success?, "#{command.join(' ')}\n#{out}#{err}"
    out
  end
end
