# frozen_string_literal: true

require "test_helper"
require "support/events_reader"
require "support/survivors_reader"

# A recording of survivors of this very process, asked for as a reader does it.
class SurvivorsTest < Minitest::Test
  include Recording

  KEPT = [] # rubocop:disable Style/MutableConstant
  HERE = File.expand_path(__FILE__)

  def teardown
    KEPT.clear
    GC.stress = false
  end

  def test_what_is_kept_becomes_old_and_what_is_dropped_dies_young
    seen = sampled do
      200.times { KEPT << Object.new }
      300.times { Object.new }
    end
    kept, dropped = [__LINE__ - 3, __LINE__ - 2].map { |line| site(seen, "Object", line) }
    assert_equal [200, 200, 0], kept.to_a.values_at(2, 3, 4)
    assert_equal [300, 0], dropped.to_a.values_at(2, 3)
    assert_in_delta 300, dropped.died, 1, "the stack may still hold the last one"
  end

  def flight_path = Powerband::Native.path

  # Of all objects that are made in the block: each one is taken, and followed until it is decided.
  def sampled(**options)
    path = nil
    record do
      request
      path = SurvivorsReader.ask(flight_path, request: 7, **options)
      request
      yield
      5.times { GC.start }
      EventsReader.word(flight_path, 0)
      request
      return SurvivorsReader.new(File.binread(path))
    end
  end

  def site(seen, class_name, line)
    seen.sites.find { |one| one.class_name == class_name && one.line_in(HERE) == line } || flunk("no #{class_name} of line #{line}")
  end
end
