# frozen_string_literal: true

require "minitest/autorun"
require "fileutils"
require "rbconfig"
require "timeout"
require "tmpdir"

GEM_ROOT = File.expand_path("..", __dir__)

# A Ruby warning about our own code fails the test in which it came.
module WarningsFail
  def warn(message, **)
    raise "warning: #{message}" if message.include?(GEM_ROOT)

    super
  end
end
Warning.extend(WarningsFail)

$VERBOSE = true
$LOAD_PATH.unshift(File.join(GEM_ROOT, "lib")) unless $LOAD_PATH.include?(File.join(GEM_ROOT, "lib"))
require "powerband"
require "support/flight_reader"

abort "the extension is not compiled: run gem/test/run.rb" unless Powerband::Native.available?

# As if every framework were there whose names of endpoints are looked for.
Powerband::NAMES.each_value { |whose| Powerband::Native.names(whose) }

# A recording that a test leaves open would take the next test's requests into a folder that is gone.
module RecordingsEnd
  def after_teardown
    super
    Powerband::Native.forget if Powerband::Native.path
  end
end
Minitest::Test.include(RecordingsEnd)

# For tests in this very process.
module Recording
  OPTIONS = {
    ring_capacity: 64, ruby_version: RUBY_VERSION, server_name: "test 1", framework: "", agent_version: "0.1.0",
    app_root: "/", workers: 2, min_threads: 1, max_threads: 3, preload: 0, worker_index: 1,
    queue_limit_ns: 60_000_000_000
  }.freeze

  # Records what the block does and returns the file as read back.
  def record(**options)
    Dir.mktmpdir do |root|
      Powerband::Native.forget
      Powerband::Native.open(OPTIONS.merge(root:, **options))
      yield
      FlightReader.new(File.binread(Powerband::Native.path))
    ensure
      Powerband::Native.forget
    end
  end

  def request(env = {}, &app)
    Powerband::Middleware.new(app || ->(_) { [200, {}, []] }).call(environment(env))
  end

  def environment(env = {})
    { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" }.merge(env)
  end
end
