class Review < ApplicationRecord
  RATINGS = (1..5)

  belongs_to :product

  validates :author, :body, presence: true
  validates :rating, inclusion: { in: RATINGS }
end
