# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "support/processes"

# The texts that the command line tool is tested against too. They come from the descriptions of the golden flight files,
# by a script that shares nothing with the code here.
class MetricsGoldenTest < Minitest::Test
  CONTRACT = File.expand_path("../contract/samples", GEM_ROOT)
  CASES = JSON.parse(File.read(File.join(CONTRACT, "metrics/cases.json")))

  def test_the_committed_texts_are_what_the_script_builds
    Dir.mktmpdir do |folder|
      output, status = Open3.capture2e(RbConfig.ruby, "-w", File.join(CONTRACT, "metrics/build.rb"), folder)
      assert_predicate status, :success?, output
      CASES.each_key do |name|
        assert_equal golden(name), File.read(File.join(folder, "#{name}.prom")), name
      end
    end
  end

  CASES.each do |name, wanted|
    define_method("test_#{name}_is_written_as_the_contract_says") do
      in_folder(wanted) { |folder| assert_equal golden(name), text(folder, wanted) }
    end

    # However the counts are divided between files and what removed files had counted.
    define_method("test_#{name}_stays_when_files_are_removed") do
      in_folder(wanted) do |folder|
        (wanted["samples"] - wanted["live"]).each do |sample|
          path = File.join(folder, "#{sample}.flight")
          assert_equal [path], Powerband::Metrics::Carried.retire(folder, [path])
          assert_equal golden(name), text(folder, wanted)
        end
      end
    end

    define_method("test_promtool_finds_nothing_wrong_with_#{name}") do
      assert_equal "", Processes.promtool(golden(name)) || skip("promtool is not installed (Debian's package promtool)")
    end
  end

  private

  def golden(name)
    File.read(File.join(CONTRACT, "metrics/#{name}.prom"))
  end

  # Files of the same process, all live: which of them are is the case's to say.
  Chosen = Struct.new(:names) do
    def among(files)
      files.select { |file| names.include?(File.basename(file.path, ".flight")) }
    end
  end

  def in_folder(wanted)
    Dir.mktmpdir do |folder|
      FileUtils.cp(wanted["samples"].map { |name| File.join(CONTRACT, "flight/#{name}.flight") }, folder)
      held = wanted.fetch("unrecorded", []).each_with_index.map { |reason, n| marker(folder, n, reason) }
      held.each { |file| file.flock(File::LOCK_EX) }
      marker(folder, 9, "EIO").close # left by a process that was killed
      yield folder
    ensure
      held&.each(&:close)
    end
  end

  def marker(folder, number, reason)
    File.new(File.join(folder, "1-#{number}-00000001.unrecorded-#{reason}"), "w")
  end

  def text(folder, wanted)
    reading = Powerband::Metrics::Folder.new(folder).read(nil, live: Chosen.new(wanted["live"]))
    Powerband::Metrics::Exposition.new(reading.sums, reading.gauges, wanted["endpoints"],
                                       opentelemetry: wanted.fetch("opentelemetry", false)).to_s
  end
end
