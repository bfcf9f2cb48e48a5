# frozen_string_literal: true

require "test_helper"
require "support/processes"

# With RUBY_MN_THREADS a Ruby thread goes from one kernel thread to another: their CPU clocks say nothing about it.
class MnThreadsTest < Minitest::Test
  include Processes

  PROGRAM = <<~RUBY
    require "powerband"
    Powerband::Recorder.start(server_name: "test")
    middleware = Powerband::Middleware.new(lambda do |_|
      20.times { sleep 0.001 and 10_000.times { _1 * 2 } }
      [200, {}, []]
    end)
    Array.new(6) { Thread.new { 3.times { middleware.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/") } } }.each(&:join)
    print Powerband::Metrics.new(application: :all).text
  RUBY

  def test_the_processor_time_of_a_thread_is_not_measured
    skip "this Ruby has no M:N threads" unless run_ruby("-v", env: { "RUBY_MN_THREADS" => "1" }).first.include?("+MN")

    { "1" => false, "0" => true }.each do |many_to_many, measured|
      Dir.mktmpdir do |root|
        env = { "POWERBAND_DIR" => root, "RUBY_MN_THREADS" => many_to_many }
        text, said, = run_ruby("-W0", "-I#{GEM_ROOT}/lib", "-e", PROGRAM, env:)
        flight = FlightReader.all(root).first

        assert_equal [18, ""], [flight.records.size, said]
        assert_equal measured, flight.fields.find { |f| f.name == "cpu_ns" }.flags.odd?
        assert_equal measured, flight.records.any? { |r| r[:cpu_ns].positive? }
        assert_equal measured, flight.totals[:cpu_ns].positive?
        assert_equal measured, text.match?(/^powerband_.*cpu_seconds_total\{.*endpoint/), text
        assert(flight.records.all? { |r| r[:wall_ns] == r[:held_ns] + r[:gvl_wait_ns] + r[:lock_wait_ns] + r[:io_ns] })
      end
    end
  end
end
