class Product < ApplicationRecord
  belongs_to :category
  has_many :reviews, dependent: :destroy
  has_many :order_items, dependent: :restrict_with_error

  validates :name, :description, presence: true
  validates :sku, presence: true, uniqueness: true
  validates :price_cents, numericality: { only_integer: true, greater_than: 0 }

  # Every product whose name, description or reviews mention the term, most mentioned first. A leading wildcard rules
  # out every index, so each row of both tables is read: the slow search that applications of this kind do have.
  def self.mentioning(term)
    pattern = "%#{sanitize_sql_like(term)}%"
    left_joins(:reviews)
      .where("products.name LIKE :pattern OR description LIKE :pattern OR reviews.body LIKE :pattern", pattern:)
      .group(:id)
      .order(Arel.sql("COUNT(reviews.id) DESC, products.id"))
  end

  # Other products in the same category, dearest first.
  def related(limit)
    category.products.where.not(id:).order(price_cents: :desc, id: :asc).limit(limit)
  end

  # How many were sold, over all orders.
  def units_sold
    order_items.sum(:quantity)
  end
end
