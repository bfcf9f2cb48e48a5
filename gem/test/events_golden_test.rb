# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "support/events_reader"

# The samples are built from the contract's page by a script that shares nothing with the writer. What the reader of
# these tests finds in them is what it must find, so that what it says of real files is worth something.
class EventsGoldenTest < Minitest::Test
  SAMPLES = File.expand_path("../contract/samples/events", GEM_ROOT)
  NAMES = %w[trace.events full.events dead.events truncated.events sampled.bursts sampled_torn.bursts].freeze

  def test_the_committed_samples_are_what_the_script_builds
    Dir.mktmpdir do |folder|
      output, status = Open3.capture2e(RbConfig.ruby, "-w", File.join(SAMPLES, "build.rb"), folder)
      assert_predicate status, :success?, output
      (NAMES + NAMES.map { |name| name.sub(/\..*/, ".json") }).each do |file|
        assert_equal File.binread(File.join(SAMPLES, file)), File.binread(File.join(folder, file)), file
      end
    end
  end

  NAMES.each do |name|
    define_method("test_#{name.tr('.', '_')}_reads_as_its_description_says") do
      events = EventsReader.new(File.binread(File.join(SAMPLES, name)))
      expected = JSON.parse(File.read(File.join(SAMPLES, name.sub(/\..*/, ".json"))), symbolize_names: true)

      assert_equal expected[:header], events.header
      assert_equal expected[:threads], events.threads.sort_by(&:number).map(&:to_h)
      assert_equal expected[:events].map { |event| event.merge(kind: EventsReader.kind(event[:kind])) },
                   events.events.map(&:to_h)
      assert_equal expected[:torn], events.torn
      assert_equal expected[:missing], events.missing
    end
  end
end
