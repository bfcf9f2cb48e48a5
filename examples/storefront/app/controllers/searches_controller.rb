class SearchesController < ApplicationController
  RESULTS = 20

  def show
    @term = params[:q].to_s.strip
    @products = @term.empty? ? Product.none : Product.mentioning(@term).includes(:category).limit(RESULTS)
  end
end
