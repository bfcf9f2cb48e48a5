# frozen_string_literal: true

require "test_helper"
require "minitest/mock"

# How a scrape gives way to requests that are served meanwhile.
class PaceTest < Minitest::Test
  include Recording

  Pace = Powerband::Metrics::Pace
  APP = "/srv/pace"

  def test_once_a_slice_and_not_more_often
    clock = 1e9
    passes = 0
    Thread.stub(:pass, -> { passes += 1 }) do
      Pace.stub(:now, -> { clock }) do
        counts = [0, 0.004, 0.004, 0.004, 0.009].map do |elapsed|
          clock += elapsed
          Pace.give_way
          passes
        end
        assert_equal [1, 1, 1, 2, 2], counts
      end
    end
  end

  # Each file's endpoints, what removed files had counted, and each endpoint of the text.
  def test_every_part_of_a_scrape_is_small
    record(app_root: APP) do
      40.times { |n| request("powerband.endpoint" => "e#{n}") }
      folder = File.dirname(Powerband::Native.path)
      removed = File.join(folder, "4194305-1-00000001.flight")
      FileUtils.cp(Powerband::Native.path, removed)
      Powerband::Metrics::Carried.retire(folder, [removed])
      parts = 0
      Pace.stub(:give_way, -> { parts += 1 }) do
        reading = Powerband::Metrics::Folder.new(folder).read(APP)
        assert_operator parts, :>=, 3 * 40, "a file, the carried text, their sum"
        Powerband::Metrics::Exposition.new(reading.sums, reading.gauges, 50).to_s
      end
      assert_operator parts, :>=, 5 * 40
    end
  end
end
