# frozen_string_literal: true

require "test_helper"
require "powerband/setup"

# Names by which objects hold others, as a search for a leak asks for them.
class LeakNamesTest < Minitest::Test
  Names = Powerband::Setup::LeakNames
  Pair = Struct.new(:left, :right)

  # Holds things in each way; its own methods would mislead or raise.
  class Holder
    HELD = ["constant"] # rubocop:disable Style/MutableConstant
    SEEN = HELD
    DEFINED_AT = [__LINE__ - 2, __LINE__ - 1].map { |line| "#{__FILE__}:#{line}" }.freeze
    @@shared = ["class variable"] # rubocop:disable Style/ClassVars
    @own = ["variable of the class"]
    autoload :Missing, "/nowhere/missing"
    deprecate_constant :HELD

    class << self
      attr_reader :own

      def constants(*) = raise("called")
      def shared = @@shared
    end

    attr_reader :entries

    def initialize
      @entries = ["variable"]
    end

    def instance_variables = raise("called")
  end

  def test_classes_name_constants_and_variables
    assert_includes [["HELD", Holder::DEFINED_AT[0]], ["SEEN", Holder::DEFINED_AT[1]]], name_of(Holder, Holder::SEEN)
    assert_equal ["@@shared", ""], name_of(Holder, Holder.shared)
    assert_equal ["@own", ""], name_of(Holder, Holder.own)
    assert Holder.autoload?(:Missing)
  end

  def test_objects_structs_and_threads_name_theirs
    holder = Holder.new

    assert_equal ["@entries", ""], name_of(holder, holder.entries)
    pair = Pair.new(nil, ["member"])

    assert_equal ["right", ""], name_of(pair, pair.right)
    thread = Thread.new { sleep }
    thread[:seen] = ["of a fiber"]
    thread.thread_variable_set(:kept, ["of a thread"])

    assert_equal ["Thread.current[:seen]", ""], name_of(thread, thread[:seen])
    assert_equal ["thread_variable[:kept]", ""], name_of(thread, thread.thread_variable_get(:kept))
  ensure
    thread&.kill
  end

  def test_a_root_names_global_variables
    $held_by_a_global = ["global"] # rubocop:disable Style/GlobalVars

    assert_equal ["$held_by_a_global", ""], Names.of("0-#{address($held_by_a_global)}").values.first # rubocop:disable Style/GlobalVars
  ensure
    $held_by_a_global = nil # rubocop:disable Style/GlobalVars
  end

  def test_what_has_no_name_is_left_out
    inside = ["element"]

    assert_empty Names.of("#{address([inside])}-#{address(inside)}")
    assert_empty Names.of("")
  end

  private

  def name_of(holder, held)
    pair = "#{address(holder)}-#{address(held)}"
    Names.of(pair).fetch(pair)
  end

  def address(object)
    Powerband::Native.address(object).to_s(16)
  end
end
