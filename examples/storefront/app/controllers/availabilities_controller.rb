class AvailabilitiesController < ApplicationController
  rescue_from Warehouse::Unavailable do |error|
    render plain: "#{error.message}\n", status: :bad_gateway
  end

  def show
    @product = Product.find(params[:product_id])
    @stock = Warehouse.all.to_h { |warehouse| [warehouse.name, warehouse.stock(@product)] }
  end
end
