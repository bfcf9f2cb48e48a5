class OrderItem < ApplicationRecord
  belongs_to :order
  belongs_to :product

  validates :quantity, :unit_price_cents, numericality: { only_integer: true, greater_than: 0 }

  def amount_cents
    quantity * unit_price_cents
  end
end
