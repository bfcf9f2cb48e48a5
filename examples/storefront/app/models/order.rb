class Order < ApplicationRecord
  has_many :items, class_name: "OrderItem", dependent: :destroy, inverse_of: :order

  validates :email, format: { with: URI::MailTo::EMAIL_REGEXP }
  validates :items, :placed_on, presence: true
  validates :total_cents, numericality: { only_integer: true, greater_than: 0 }

  # Builds an unsaved order from product ids and quantities, at today's prices.
  def self.of(email:, quantities:)
    order = new(email:, placed_on: Date.current)
    Product.where(id: quantities.keys).order(:id).each do |product|
      order.items.build(product:, quantity: quantities.fetch(product.id), unit_price_cents: product.price_cents)
    end
    order.total_cents = order.items.sum(&:amount_cents)
    order
  end
end
