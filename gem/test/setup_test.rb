# frozen_string_literal: true

require "test_helper"
require "json"
require "support/processes"
require "powerband/setup"

# The parts of the set-up that need no server.
class SetupTest < Minitest::Test
  include Processes

  SAMPLES = File.expand_path("../../contract/samples/setup", __dir__)
  # A process that is about to serve, after `before`; it answers with its report.
  SERVE = <<~RUBY
    require "powerband/inject"
    require "powerband"
    eval(ARGV.first)
    middleware = Powerband::Middleware.new(->(_) { [200, {}, []] })
    Powerband.setup.before_application
    Powerband.setup.serving(middleware, :application) { |out_of_band| attach(out_of_band) }
    middleware.call("PATH_INFO" => "/")
    print File.read(Dir[File.join(ENV["POWERBAND_DIR"], "*", "setup-*.json")].first)
  RUBY

  def test_reports_are_written_as_the_contract_says
    samples = Dir[File.join(SAMPLES, "*.json")]

    assert_equal 2, samples.size
    samples.each do |path|
      text = File.read(path)
      assert_equal text, "#{Powerband::Setup::Report.json(JSON.parse(text))}\n"
    end
  end

  def test_a_process_reports_all_fields_of_the_contract_in_their_order
    report, = serve({ "WARMUP" => "1" })

    assert_equal JSON.parse(File.read(Dir[File.join(SAMPLES, "*.json")].first)).keys, report.keys
  end

  def test_the_file_is_private_and_whole
    Dir.mktmpdir do |folder|
      root = File.join(folder, "a/b")
      2.times { Powerband::Setup::Report.write(Powerband::Folder.new(root), { text: "1" }) }
      path = Dir[File.join(root, Process.euid.to_s, "*")].first

      assert_equal [1, 0o100600, 0o40700, 0o40755], [Dir.children(File.dirname(path)).size, File.stat(path).mode,
                                                     File.stat(File.dirname(path)).mode, File.stat(root).mode]
      assert_equal "setup-#{Process.pid}-#{File.read('/proc/self/stat').rpartition(')').last.split[19]}.json", File.basename(path)
      assert_equal({ "v" => 1, "pid" => Process.pid, "start_ticks" => path[/-(\d+)\.json/, 1].to_i,
                     "pid_namespace" => File.stat("/proc/self/ns/pid").ino,
                     "boot_id" => File.read("/proc/sys/kernel/random/boot_id").delete("-\n"), "text" => "1" },
                   JSON.parse(File.read(path)))
    end
  end

  def test_nothing_is_written_into_a_folder_that_others_may_see_or_have_put_there
    [->(path) { Dir.mkdir(path, 0o755) }, ->(path) { File.symlink(Dir.tmpdir, path) }].each do |there|
      Dir.mktmpdir do |root|
        there.call(File.join(root, Process.euid.to_s))
        error = assert_raises(Powerband::Folder::Distrusted) { Powerband::Setup::Report.write(Powerband::Folder.new(root), {}) }

        assert_match(/is not a private folder \(0700\).*; remove it or set POWERBAND_DIR/, error.message)
      end
    end
  end

  def test_values_that_cannot_be_used_are_named_and_left_out
    asked = Powerband::Setup::Asked.new({ "POWERBAND_SETUP_WARMUP" => "maybe", "POWERBAND_SETUP_COMPACT" => "on",
                                          "POWERBAND_SETUP_OOB_GC" => "often", "POWERBAND_SETUP_WARMPU" => "1",
                                          "POWERBAND_SETUP_REQUIRE" => " oj , ,./x.rb", "POWERBAND_SETUP_GC_PROFILER" => "0",
                                          "POWERBAND_SETUP_VERSIONS" => "puma, rack" })

    assert_equal [false, true, false, false], [asked.warmup?, asked.compact?, asked.auto_compact?, asked.gc_profiler?]
    assert_equal 0, asked.oob_gc
    assert_equal %w[oj ./x.rb], asked.libraries
    assert_equal %w[puma rack], asked.gems
    assert_equal [["warmup", "POWERBAND_SETUP_WARMUP=maybe: it must be 1 or 0; it is left out"],
                  ["oob_gc", "POWERBAND_SETUP_OOB_GC=often: it must be N, for once after N requests, from 1 to 1000000, or 0; " \
                             "it is left out"],
                  ["warmpu", "POWERBAND_SETUP_WARMPU=1: there is no such variable; there are WARMUP, COMPACT, " \
                             "AUTO_COMPACT, GC_PROFILER, OOB_MAJOR, LEAK, OOB_GC, REQUIRE, VERSIONS"]], asked.errors
  end

  def test_versions_are_those_of_activated_gems
    report, = serve({ "VERSIONS" => "made_up,absent" }, <<~RUBY)
      Gem.loaded_specs["made_up"] = Gem::Specification.new("made_up", "1.2.3.pre1")
    RUBY

    assert_equal({ "made_up" => "1.2.3.pre1", "absent" => "" }, report["versions"])
  end

  def test_what_is_wrong_is_said_once_and_reported
    report, said = serve({ "WARMUP" => "maybe", "COMPACT" => "1" })

    assert_equal [false, true], report.values_at("warmup", "compact")
    assert_equal [%w[warmup], 1], [report["failed"].map { |failure| failure["what"] }, said.lines.size]
    assert_equal "powerband: not set up as asked: warmup: #{report.dig('failed', 0, 'why')}\n", said
  end

  def test_a_ruby_that_lacks_a_call_says_so
    report, = serve({ "WARMUP" => "1", "COMPACT" => "1", "AUTO_COMPACT" => "1" }, <<~RUBY)
      Process.singleton_class.undef_method(:warmup) if Process.respond_to?(:warmup)
      GC.singleton_class.undef_method(:compact)
      GC.define_singleton_method(:auto_compact=) { |_| raise NotImplementedError, "not on this machine" }
    RUBY

    assert_equal [false, false, false], report.values_at("warmup", "compact", "auto_compact")
    assert_equal ["this Ruby has no GC.compact", "Process.warmup needs Ruby 3.3, this is #{RUBY_VERSION}",
                  "not on this machine (NotImplementedError)"], (report["failed"].map { |failure| failure["why"] })
  end

  # As GC.config is from Ruby 3.4 on, where the collector of that build knows the key.
  def test_full_runs_are_made_out_of_band_alone_where_ruby_can
    config = "def GC.config(given = nil) = given ? (@given = given) : { rgengc_allow_full_mark: true }.merge(%s)\n" \
             "def attach(_) = nil"
    { "@given" => true, "{}" => false }.each do |known, minor_only|
      report, = serve({ "OOB_GC" => "2" }, format(config, known))

      assert_equal [2, 0, minor_only, []], report.values_at("oob_gc", "oob_gc_runs", "oob_gc_minor_only", "failed")
    end
  end

  def test_majors_run_out_of_band_when_ruby_needs_one
    config = "def GC.config(given = nil) = given ? (@given = given) : { rgengc_allow_full_mark: true }.merge(@given)\n" \
             "def attach(_) = nil"
    report, = serve({ "OOB_MAJOR" => "1", "OOB_GC" => "2" }, config)

    assert_equal [true, 0, true, ["oob_gc"]],
                 [*report.values_at("oob_major", "oob_gc", "oob_gc_minor_only"), report["failed"].map { |one| one["what"] }]
    report, = serve({ "OOB_MAJOR" => "1" }, "def attach(_) = nil\nGC.singleton_class.undef_method(:config) rescue nil")

    assert_equal [false, ["oob_major"]], [report["oob_major"], report["failed"].map { |one| one["what"] }]
    collector = Powerband::Setup::MajorOutOfBand.new { nil }
    needed = [nil, :oldgen, nil]
    GC.stub(:latest_gc_info, ->(*) { needed.shift }) do
      assert_equal [false, true, false], Array.new(3) { |count| collector.reached?(count) }
    end
  end

  def test_a_server_without_a_place_for_it_is_refused
    report, = serve({ "OOB_GC" => "2" }, "def attach(_) = raise(Powerband::Setup::Refused, 'no place here')")

    assert_equal [0, false, [{ "what" => "oob_gc", "why" => "no place here" }]],
                 report.values_at("oob_gc", "oob_gc_minor_only", "failed")
  end

  def test_so_many_requests_are_counted_from_the_last_time
    out_of_band = Powerband::Setup::OutOfBand.new(3)

    assert_equal [false, false, true, false, false, true], Array.new(6) { out_of_band.one_more? }
    assert_equal [true, false, true], [11, 13, 14].map { |total| out_of_band.reached?(total) }
  end

  def test_pumas_hook_suits_each_version_of_it
    server = Struct.new(:requests_count).new(2)
    runs = 0
    hook = Powerband::Setup::Servers::PumaOutOfBand.new(server, Powerband::Setup::OutOfBand.new(2) { runs += 1 })
    hook.call
    hook[:block].call

    assert_equal [1, nil], [runs, hook[:cluster_only]]
    server.requests_count = 4
    hook[:block].call
    assert_equal 2, runs
  end

  # Another agent reads it, too, and clears it itself.
  def test_a_profile_that_is_kept_already_is_left_alone
    report, = serve({ "GC_PROFILER" => "1" }, <<~RUBY)
      GC::Profiler.enable
      GC.start
      at_exit { abort "it was cleared" if GC::Profiler.raw_data.empty? }
    RUBY

    assert report["gc_profiler"]
  end

  def test_a_library_that_is_not_there_or_raises_is_reported_and_the_next_is_loaded
    Dir.mktmpdir do |folder|
      { "raises" => "raise 'on purpose'", "wrong" => "def", "fine" => "" }.each do |name, text|
        File.write(File.join(folder, "#{name}.rb"), text)
      end
      report, = serve({ "REQUIRE" => "optparse/uri,no_such_library,./raises,./wrong,./fine" }, chdir: folder)

      assert_equal ["optparse/uri", "./fine"], report["require"]
      assert_equal ["no_such_library: cannot load such file -- no_such_library", "./raises: on purpose (RuntimeError)"],
                   report["failed"].first(2).map { |failure| failure["why"] }
      assert_match(%r{\A\./wrong: .*\(SyntaxError\)\z}m, report["failed"].last["why"])
    end
  end

  # RubyGems would activate versions that may not be the Gemfile's.
  def test_gems_are_left_alone_before_bundler_is_set_up
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "Gemfile"), "")
      File.write(File.join(folder, "mine.rb"), "")
      report, = serve({ "REQUIRE" => "rack,#{folder}/mine.rb" }, chdir: folder)

      assert_equal ["#{folder}/mine.rb"], report["require"]
      assert_match(/\Arack: Gemfile is not set up yet, .*`bundle exec`/, report["failed"].first["why"])
    end
  end

  def test_under_bundler_what_the_gemfile_does_not_name_is_reported
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "Gemfile"), "gem 'rack'\n")
      before = "require 'bundler/setup'"
      report, = serve({ "REQUIRE" => "rack,minitest" }, before, chdir: folder)

      assert_equal ["rack"], report["require"]
      assert_match(/\Aminitest: .*; under Bundler only what the Gemfile names can be loaded\z/, report["failed"].first["why"])
    end
  end

  private

  # The report of a process that serves with these variables, and what it said.
  def serve(setup, before = "", chdir: Dir.pwd)
    Dir.mktmpdir do |root|
      env = { "POWERBAND_DIR" => root, "RUBYLIB" => File.join(GEM_ROOT, "lib") }
      env.merge!(setup.transform_keys { |name| "POWERBAND_SETUP_#{name}" })
      out, err, status = run_ruby("-W1", "-e", SERVE, before, env:, chdir:)
      assert_predicate status, :success?, err
      [JSON.parse(out), err]
    end
  end
end
