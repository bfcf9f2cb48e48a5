# frozen_string_literal: true

require_relative "support/powerband"

# `compare` and `sweep` of what a server takes from its environment: what was asked arrives in the server and is read
# back, settings without effect are reported, and secrets appear nowhere.
class EnvironmentTest < PowerbandTest
  parallelize_me!

  TOKEN = "hunter2-hunter2"
  BOTH = "threads=4,workers=1"
  OTHER = "#{BOTH},allocator=jemalloc,gc.malloc_limit=48MiB,env.API_TOKEN=#{TOKEN}".freeze

  def test_two_environments_head_to_head
    record = File.join(@dir, "record")
    server = "puma -C {config} -b tcp://127.0.0.1:{port} -t {threads}:{threads} -w {workers} --control-token #{TOKEN}"
    words = experiment("compare", BOTH, OTHER, "--env", "RECORD=#{record}", "--server", server, "--json",
                       app: "environment").drop(1)
    ended = measured(*words, within: 240)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_valid_run_document ended.out
    as_asked JSON.parse(ended.out)
    as_seen_by_the_server File.readlines(record).map { |line| JSON.parse(line) }
    report = powerband("report", "--runs", runs)
    assert_match(/What each configuration sets/, report.out)
    assert_match(/RUBY_GC_MALLOC_LIMIT +50331648/, report.out)
    nowhere TOKEN, ended, report
  end

  def test_a_start_command_that_sets_a_value_of_its_own
    words = ["--server", "bin/start {config}", "--env", "RUBY_GC_MALLOC_LIMIT=33554432"]
    ended = powerband(*experiment("sweep", "gc.malloc_limit=32MiB,48MiB", *words, app: "environment").drop(1))
    assert_refused ended, 3, /gc\.malloc_limit = 32MiB \(RUBY_GC_MALLOC_LIMIT=33554432\) was asked/,
                   /the server runs with RUBY_GC_MALLOC_LIMIT=50331648/, /the start command/
  end

  def test_another_ruby
    ended = measured("compare", "threads=1", "threads=1,ruby=#{another_ruby}", "--rehearse", "--json", *where("environment"))
    assert_equal 0, ended.code, ended.to_s
    plain, other = JSON.parse(ended.out).fetch("arms")
    refute plain.key?("environment")
    assert_equal [{ "knob" => "ruby", "value" => another_ruby, "variable" => "PATH", "holds" => another_ruby }],
                 other.fetch("environment")
    by_hand = "#{RbConfig.ruby} -S puma -C {config} -b tcp://127.0.0.1:{port} -t {threads}:{threads} -w {workers}"
    ended = powerband("compare", "threads=1", "threads=1,ruby=#{another_ruby}", "--rehearse", "--server", by_hand,
                      *where("environment"))
    assert_equal 3, ended.code, ended.to_s
    assert_match(/ruby = .*was asked, the server runs with #{Regexp.escape(File.realpath(RbConfig.ruby))}/, ended.err)
  end

  def test_everything_wrong_is_told_at_once
    wrong = ["gc.malloc_limt=1MiB", "gc.malloc_limit=3,env.PORT=3,allocator=mine", "env.API_TOKEN=#{TOKEN},turbo=1"]
    ended = powerband(*experiment("compare", *wrong).drop(1))
    assert_refused ended, 2, /did you mean gc\.malloc_limit\?/, /without a unit; give a size/, /give --port/,
                   /one of glibc, jemalloc/, /unknown knob "turbo"/
    refute_match(/#{TOKEN}/, ended.err)
    assert_no_run_folder
  end

  # Ruby is asked before the first trial; which variables it knows depends on which it is.
  def test_what_this_ruby_does_not_take
    ended = powerband(*experiment("compare", "ruby=no/such/ruby", "gc.heap_growth_factor=default",
                                  "gc.heap_free_slots_max_ratio=0.1", "env.RUBY_GC_HEAP_99_INIT_SLOTS=1", old_or_new).drop(1))
    assert_refused ended, 2, %r{ruby = "no/such/ruby".*is no file}, /is ignored because it must be greater than 0\.2/,
                   /does not know RUBY_GC_HEAP_99_INIT_SLOTS/,
                   /Ruby( 3\.2)? ignores RUBY_GC_HEAP_/
    assert_no_run_folder
  end

  # A search leaves it out there and goes on; what no Ruby takes is refused.
  def test_a_value_that_one_ruby_of_a_search_does_not_take
    narrow = File.join(@dir, "narrow/ruby")
    FileUtils.mkdir_p(File.dirname(narrow))
    # One that does not take what the other does.
    File.write(narrow, <<~SHELL)
      #!/bin/sh
      [ -z "$RUBY_GC_HEAP_GROWTH_FACTOR" ] || export RUBY_GC_HEAP_GROWTH_FACTOR=0.5
      exec #{RbConfig.ruby} "$@"
    SHELL
    File.chmod(0o755, narrow)
    search = ["tune", *where("environment"), "--budget", "10m", "--knobs", "ruby=#{narrow}"]
    ended = powerband(*search, "--knobs", "gc.heap_growth_factor=1.5", "--server", "false")
    assert_equal 3, ended.code, ended.to_s
    assert_match(/not searched with ruby=#{narrow}: .*gc\.heap_growth_factor=1\.5.*is ignored because/, ended.err)
    document = JSON.parse(File.read(Dir[File.join(runs, "*/run.json")].first))
    assert(document["warnings"].any? { |warning| warning.start_with?("not searched with ruby=#{narrow}") })
    ended = powerband(*search, "--knobs", "gc.heap_free_slots_max_ratio=0.1")
    assert_refused ended, 2, /is ignored because it must be greater than 0\.2/
    refute_match(/not searched with/, ended.err)
  end

  def test_addresses_elsewhere_are_refused_in_configurations_too
    ended = powerband(*experiment("sweep", "env.REDIS_URL=redis://127.0.0.1/1,redis://me:#{TOKEN}@redis.example.org/1").drop(1))
    assert_refused ended, 2, /redis\.example\.org/, /--allow-remote/
    refute_match(/#{TOKEN}/, ended.err)
  end

  private

  def where(app) = ["--app", File.join(APPS, app), "--path", "/", "--runs", runs]

  # A knob that there was before Ruby 3.3, or one that there is since.
  def old_or_new
    Gem::Version.new(RUBY_VERSION) < Gem::Version.new("3.3") ? "gc.heap_0_init_slots=20000" : "gc.heap_init_slots=20000"
  end

  def as_asked(document)
    plain, other = document.fetch("arms")
    refute plain.key?("environment")
    refute document.fetch("plan").key?("baseline_environment")
    assert_equal %w[--control-token REDACTED], document.fetch("plan").fetch("server_command").last(2)
    held = other.fetch("environment").to_h { |set| [set["knob"], set["holds"]] }
    assert_match(%r{\A/.*/libjemalloc\.so}, held.delete("allocator"))
    assert_equal({ "gc.malloc_limit" => "50331648", "env.API_TOKEN" => "REDACTED" }, held)
    trials = document.fetch("trials").select { |trial| trial["arm"] == other["name"] }
    assert_equal [other["environment"]], trials.map { |trial| trial["environment"] }.uniq
    refute_includes trials.map { |trial| trial["status"] }, "failed", trials.map { |trial| trial["reason"] }.inspect
  end

  def as_seen_by_the_server(starts)
    plain, other = starts.partition { |start| start["token"].nil? }
    assert_equal [[[], 16 << 20]], plain.map { |start| start.values_at("allocators", "malloc_limit") }.uniq
    assert_equal [[["jemalloc"], 48 << 20, TOKEN]],
                 other.map { |start| start.values_at("allocators", "malloc_limit", "token") }.uniq
  end

  # Neither printed, nor in the name or the text of any file of the run.
  def nowhere(secret, *printed)
    printed.each { |ended| refute_includes ended.to_s, secret }
    files = Dir.glob(File.join(runs, "**/*"), File::FNM_DOTMATCH)
    assert_operator files.size, :>, 13
    files.each do |file|
      refute_includes file, secret
      refute_includes File.binread(file), secret, file if File.file?(file)
    end
  end
end
