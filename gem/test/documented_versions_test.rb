# frozen_string_literal: true

require "test_helper"

# Versions that docs/agent.md names, each held against the place that decides it.
class DocumentedVersionsTest < Minitest::Test
  ROOT = File.expand_path("..", GEM_ROOT)
  PAGE = File.read(File.join(ROOT, "docs/agent.md")).gsub(/\s+/, " ").freeze
  TESTED = /
    tested\ with\ (?<ruby>\S+),\ Rails\ (?<rails>\S+),\ Puma\ (?<puma>\S+),\ Unicorn\ (?<unicorn>\S+),
    \ Passenger\ (?<passenger>\S+)\ under\ Apache,\ Sidekiq\ (?<sidekiq>\S+)\ and\ Rack\ (?<rack>\d[.\d]*\d)\.
  /x

  def test_what_is_released
    assert_equal Powerband::VERSION, named(/with one version number \((\S+)\)/)
    assert_equal Powerband::VERSION, source("Cargo.toml")[/^version = "(.+)"/, 1]
    assert_equal source("gem/ext/powerband/layout.h")[/define PB_VERSION (\d+)/, 1], named(/version of the flight file \((\d+)\)/)
  end

  # The page on what reads what has the number that the readers want.
  def test_versions_of_formats
    rows = source("docs/compatibility.md").scan(/^\| \[?([a-z][a-z -]+[a-z])[^|]*\| (\d+) \|/)
    layout = source("gem/ext/powerband/layout.h")
    document = source("crates/report/src/readable.rs")[/const VERSION: &str = "(\d+)"/, 1]

    assert_equal({ "flight file" => layout[/define PB_VERSION (\d+)/, 1],
                   "events file" => source("crates/flight/src/events/header.rs")[/u32_of\(8\) != (\d+)/, 1],
                   "survivors file" => source("crates/flight/src/survivors.rs")[/u32_of\(8\) != (\d+)/, 1],
                   "set-up report" => source("crates/flight/src/setup.rs")[/if v != (\d+)/, 1],
                   "capture file" => source("crates/capture/src/file/head.rs")[/const VERSION: u16 = (\d+)/, 1],
                   "documents" => document, "counters" => document, "run folder" => document }, rows.to_h)
  end

  def test_the_oldest_ruby
    least = Powerband::Extension::LEAST_RUBY.join(".")
    { "docs/agent.md" => /CRuby (\S+) or newer on Linux/, "gem/ext/powerband/build.rb" => /GVL events: (\S+) or newer/,
      "crates/servers/src/ruby.rs" => /the agent needs (\S+) or newer/, "ARCHITECTURE.md" => /needs nothing but CRuby (\S+) and/,
      "README.md" => /Ruby (\S+) or newer is needed/ }.each do |file, pattern|
      assert_equal least, source(file).gsub(/\s+/, " ")[pattern, 1], file
    end
    required = Gem::Specification.load(File.join(GEM_ROOT, "powerband.gemspec")).required_ruby_version
    oldest, last = PAGE.match(/On Ruby (\S+) to (\S+), or another engine, the gem can be installed but does nothing/)&.captures

    assert_equal Gem::Requirement.new(">= #{oldest}"), required
    assert_equal "3.1", last, "the one before #{least}"
  end

  def test_rubies_that_settings_need
    heap = source("gem/lib/powerband/setup/heap.rb")

    assert_equal named(/`Process\.warmup` \(Ruby (\S+)\)/), heap[/warmup needs Ruby ([\d.]+)/, 1]
    needed = Gem::Version.new(named(/From Ruby (\S+) on these are the only full runs/))
    asked = GC.respond_to?(:config) && GC.config.key?(:rgengc_allow_full_mark)

    assert_equal Gem::Version.new(RUBY_VERSION) >= needed, asked
    assert_match(/on Ruby #{needed} its memory then grows/, PAGE)
  end

  # No version that was tested is outside the range that the same page names.
  def test_what_was_tested_is_in_the_ranges
    tested = PAGE.match(TESTED)
    majors = ->(server) { Range.new(*named(/\| #{server} (\d+(?:(?: to |, )\d+)?) \|/).scan(/\d+/).minmax.map(&:to_i)) }

    %w[Puma Unicorn Passenger].each do |server|
      assert_includes majors.call(server), tested[server.downcase].to_i, server
    end
    assert_operator named(/In Sidekiq (\d+) and later/).to_i, :<=, tested[:sidekiq].to_i
    jobs = source("gem/lib/powerband/sidekiq_hooks.rb")

    assert_equal named(/In Sidekiq (\d+) and later/), jobs[/Sidekiq, from version (\d+) on/, 1]
    assert_equal [named(/the redis gem from version (\d+) on/)] * 2,
                 [source("gem/lib/powerband/calls/clients.rb")[/the redis gem stands from version (\d+) on/, 1],
                  named(/redis before version (\d+)/)]
    assert_equal tested[:puma], named(/Puma (\S+) was tested\./)
    assert_equal tested[:passenger], named(/seen in (\d[.\d]*\d)\)/)
  end

  def test_what_was_tested_is_what_these_tests_run_with
    tested = PAGE.match(TESTED)
    of_bootstrap = RbConfig.ruby.start_with?("/usr/bin/") && tested[:ruby] == RUBY_VERSION
    skip "this is Ruby #{RUBY_VERSION} in #{RbConfig.bindir}, and the page names Debian's #{tested[:ruby]}" unless of_bootstrap

    grape = named(/Grape was tested in version (\S+),/)
    %w[rails puma unicorn sidekiq rack].to_h { |name| [name, tested[name]] }.merge("grape" => grape).each do |name, version|
      found = Gem::Specification.find_all_by_name(name).map { |spec| spec.version.segments.join(".") }
      next if found.empty?

      is_named = found.any? { |one| "#{one}.".start_with?("#{version}.") }

      assert is_named, "#{name} #{found.join(', ')}, and the page names #{version}"
    end
  end

  private

  def source(file)
    File.read(File.join(ROOT, file))
  end

  # What the page says there.
  def named(pattern)
    found = PAGE[pattern, 1]
    refute_nil found, "docs/agent.md says nothing like #{pattern.source}"
    found
  end
end
