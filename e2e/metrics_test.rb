# frozen_string_literal: true

require "open3"
require_relative "support/powerband"
require_relative "support/promtool"
require_relative "support/servers"

# `powerband inspect --prometheus` beside the gem's `Powerband::Metrics`, on the same files.
class MetricsTest < PowerbandTest
  parallelize_me!

  include Promtool
  include Servers

  ROOT = File.expand_path("..", __dir__)
  SAMPLES = Dir[File.join(ROOT, "contract/samples/flight/*.flight")]
  GEM = <<~RUBY
    require "powerband"
    reading = Powerband::Metrics::Folder.new(ARGV[0]).read(nil)
    Powerband::Metrics::Carried.retire(ARGV[0], ARGV.drop(1))
    print Powerband::Metrics::Exposition.new(reading.sums, reading.gauges, 20, opentelemetry: true)
  RUBY

  # Before and after the gem has removed some of the files.
  def test_the_tool_and_the_gem_print_the_same
    folder = File.join(@dir, "flight")
    FileUtils.mkdir_p(folder)
    FileUtils.cp(SAMPLES, folder)
    removed = %w[basic edged].map { |name| File.join(folder, "#{name}.flight") }
    tool = -> { tool_text(folder, "--opentelemetry") }
    texts = [gem_text(folder), tool.call, gem_text(folder, *removed), tool.call, gem_text(folder)]

    assert_equal [texts.first] * 5, texts
    assert_includes texts.first, "powerband_endpoint_duration_seconds_bucket"
    assert_match(/^http_server_request_duration_seconds_bucket\{http_request_method="GET",\S+,le="0.075"\} \d+$/, texts.first)
    refute removed.any? { |path| File.exist?(path) }
    assert_promtool texts.first
  end

  def test_one_folder_and_one_application
    folder = File.join(@dir, "flight")
    FileUtils.mkdir_p(folder)
    FileUtils.cp(SAMPLES, folder)
    all = tool_text(folder)

    assert_equal all, tool_text(folder, "--application", "/srv/storefront")
    none = powerband("inspect", "--prometheus", folder, "--application", "/srv/none")
    assert_equal [3, ""], [none.code, none.out], "a page of zeroes would replace what was scraped before"
    assert_equal 2, powerband("inspect", "--prometheus", *SAMPLES.first(2)).code
    alone = powerband("inspect", "--opentelemetry", folder)
    assert_equal [2, ""], [alone.code, alone.out]
    assert_includes alone.err, "--prometheus"
    assert_equal 3, powerband("inspect", "--prometheus", env: { "POWERBAND_DIR" => File.join(@dir, "none") }).code
  end

  def test_memory_is_that_of_the_processes_that_run
    folder = File.join(@dir, "flight")
    site = puma(File.join(APPS, "io"), "-w", "2", before: [BINARY, "run", "--flight-dir", folder, "--"])
    folder = File.join(folder, Process.uid.to_s)
    await("both workers' files", of: site.started) { Dir[File.join(folder, "*.flight")].size == 2 }
    # It grows while the workers begin.
    await("the workers' memory, by the tool and by the gem", of: site.started) do
      texts = [tool_text(folder), gem_text(folder)]
      expected = resident(folder)
      texts.all? { |text| value(text, "processes") == 2 && (value(text, "resident_memory_bytes").fdiv(expected) - 1).abs < 0.05 }
    end
    stop(site)
    site = nil
    text = tool_text(folder)
    assert_equal [0, nil], %w[processes resident_memory_bytes].map { |name| value(text, name) }
  ensure
    stop(site, :KILL) if site
  end

  private

  def resident(folder)
    workers = Dir[File.join(folder, "*.flight")].map { |path| File.basename(path).to_i }
    workers.sum { |pid| File.read("/proc/#{pid}/status")[/^VmRSS:\s+(\d+) kB/, 1].to_i * 1024 }
  end

  def value(text, name)
    text[/^powerband_#{name} (\d+)$/, 1]&.to_i
  end

  def tool_text(folder, *words)
    ended = powerband("inspect", "--prometheus", folder, *words)
    assert_equal 0, ended.code, ended.to_s
    ended.out
  end

  def gem_text(folder, *removed)
    out, status = Open3.capture2(RbConfig.ruby, "-I", File.join(ROOT, "gem/lib"), "-e", GEM, folder, *removed)
    assert_predicate status, :success?
    out
  end
end
