# What the latest orders brought in, added up in Ruby from loaded records, as reports often are before somebody moves
# them into SQL: it allocates far more than any other page. It covers a number of orders, not of days, so that it costs
# the same however many checkouts a measurement has made.
class SalesReport
  Line = Data.define(:category, :units, :amount_cents)

  attr_reader :size

  def initialize(size)
    @size = size
  end

  def orders
    @orders ||= Order.includes(items: { product: :category }).order(id: :desc).limit(size).to_a
  end

  def total_cents
    orders.sum(&:total_cents)
  end

  # One line a category, best seller first.
  def lines
    by_category = orders.flat_map(&:items).group_by { |item| item.product.category.name }
    lines = by_category.map do |category, items|
      Line.new(category:, units: items.sum(&:quantity), amount_cents: items.sum(&:amount_cents))
    end
    lines.sort_by { |line| [-line.amount_cents, line.category] }
  end

  # The ten days that brought in the most, best first, each with its takings in cents.
  def best_days
    orders.group_by(&:placed_on).transform_values { |own| own.sum(&:total_cents) }
          .sort_by { |day, cents| [-cents, day] }.first(10)
  end
end
