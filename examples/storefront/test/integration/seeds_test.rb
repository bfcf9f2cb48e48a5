require "test_helper"

class SeedsTest < ActiveSupport::TestCase
  test "the shop is as large as the pages expect" do
    assert_equal [12, 500, 1_500], [Category, Product, Order].map(&:count)
    assert_operator Review.count, :>, 2_000
  end

  test "every seeded order is valid and adds up" do
    Order.includes(items: :product).find_each do |order|
      assert_predicate order, :valid?
      assert_equal order.items.sum(&:amount_cents), order.total_cents
    end
  end

  test "seeding again changes nothing" do
    assert_no_difference(-> { Product.count }) { Rails.application.load_seed }
  end
end
