# frozen_string_literal: true

require "test_helper"

# Others wrap the same methods as we do, by alias or by prepending, before us or after.
class WrappingTest < Minitest::Test
  # Both of them as they are found in the gems of monitoring services and profilers.
  OTHERS = {
    alias: lambda do |owner|
      owner.class_eval do
        alias_method :request_without_them, :request
        def request(*arguments, **keywords, &block) = request_without_them(*arguments, **keywords, &block) << :them
      end
    end,
    prepend: lambda do |owner|
      owner.prepend(Module.new { def request(*, **) = super << :them })
    end
  }.freeze
  OURS = lambda do |owner|
    2.times { Powerband::Wrapping.wrap(owner, :request) { |call| "[nil].flat_map { #{call} } << :us" } }
  end

  def client
    Class.new { def request(one, two = 2, three: 3) = [one, two, three, yield] }
  end

  OTHERS.each do |how, others|
    { "before" => [others, OURS], "after" => [OURS, others] }.each do |order, both|
      define_method(:"test_others_who_#{how}_#{order}_us") do
        owner = client
        both.each { |wrapping| wrapping.call(owner) }
        names = order == "before" ? %i[them us] : %i[us them]

        assert_equal [1, 2, 3, :given, *names], owner.new.request(1) { :given }
        assert_equal [1, 5, 6, :given, *names], owner.new.request(1, 5, three: 6) { :given }
      end
    end
  end

  def test_two_of_ours_around_the_same_method
    owner = client
    OURS.call(owner)
    2.times { Powerband::Wrapping.wrap(owner, :request, as: "another") { |call| "[nil].flat_map { #{call} } << :another" } }

    assert_equal [1, 2, 3, :given, :us, :another], owner.new.request(1) { :given }
  end

  def test_an_inherited_method_and_a_private_one
    owner = Class.new(client)
    owner.send(:private, :request)
    OURS.call(owner)

    assert_raises(NoMethodError) { owner.new.request(1) }
    assert_equal [1, 2, 3, 4, :us], owner.new.send(:request, 1) { 4 }
    assert_equal [1, 2, 3, 4], owner.superclass.new.request(1) { 4 }
  end

  def test_a_private_method_of_a_class_that_somebody_prepended_to
    owner = client
    OTHERS[:prepend].call(owner)
    owner.ancestors.first.send(:private, :request)
    OURS.call(owner)

    assert_raises(NoMethodError) { owner.new.request(1) }
    assert_equal [1, 2, 3, 4, :them, :us], owner.new.send(:request, 1) { 4 }
  end
end
