# Takes an order as JSON or form fields from a client that holds no session:
# {"email": "ada@example.com", "items": [{"product_id": 1, "quantity": 2}]}
class CheckoutsController < ApplicationController
  # The endpoint reads no cookie and no session, so a forged request gains nothing that its sender could not ask for.
  skip_forgery_protection

  rescue_from ActionController::ParameterMissing do |error|
    render json: { errors: [error.message] }, status: :bad_request
  end

  def create
    order = Order.of(email: params.require(:email), quantities:)
    if order.save
      render json: { order: order.id, total_cents: order.total_cents }, status: :created
    else
      render json: { errors: order.errors.full_messages }, status: :unprocessable_entity
    end
  end

  private

  def quantities
    items = params.permit(items: %i[product_id quantity]).fetch(:items, [])
    items.group_by { |item| item[:product_id].to_i }
         .transform_values { |own| own.sum { |item| item[:quantity].to_i } }
  end
end
