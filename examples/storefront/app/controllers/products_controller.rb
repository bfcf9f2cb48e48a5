class ProductsController < ApplicationController
  PER_PAGE = 36
  REVIEWS = 10
  RELATED = 6

  def index
    @page = [params.fetch(:page, 1).to_i, 1].max
    @categories = Category.order(:name)
    @products = Product.includes(:category, :reviews).order(:id).limit(PER_PAGE).offset((@page - 1) * PER_PAGE)
  end

  def show
    @product = Product.find(params[:id])
    @reviews = @product.reviews.order(rating: :desc, id: :asc).limit(REVIEWS)
    @average_rating = @product.reviews.average(:rating)
    @related = @product.related(RELATED)
    RecentlyViewed.note(@product)
  end
end
