# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "support/events_reader"
require "support/survivors_reader"

# As of events files: what the reader of the tests finds in the samples is what it must find.
class SurvivorsGoldenTest < Minitest::Test
  SAMPLES = File.expand_path("../contract/samples/survivors", GEM_ROOT)
  NAMES = %w[over refused dead].freeze

  def test_the_committed_samples_are_what_the_script_builds
    Dir.mktmpdir do |folder|
      output, status = Open3.capture2e(RbConfig.ruby, "-w", File.join(SAMPLES, "build.rb"), folder)
      assert_predicate status, :success?, output
      NAMES.product(%w[survivors json]).map { |name| name.join(".") }.each do |file|
        assert_equal File.binread(File.join(SAMPLES, file)), File.binread(File.join(folder, file)), file
      end
    end
  end

  NAMES.each do |name|
    define_method("test_#{name}_reads_as_its_description_says") do
      seen = SurvivorsReader.new(File.binread(File.join(SAMPLES, "#{name}.survivors")))
      expected = JSON.parse(File.read(File.join(SAMPLES, "#{name}.json")), symbolize_names: true)
      assert_equal expected[:header], seen.header
      assert_equal expected[:frames], seen.frames.map(&:to_h)
      found = seen.sites.map do |site|
        steps = site.steps.map { |step| [seen.frames.index(step.frame), step.line] }
        { class: site.class_name, steps: }.merge(site.to_h.slice(:sampled, :promoted, :died, :promoted_bytes, :died_bytes))
      end
      assert_equal expected[:sites], found
    end
  end
end
