require "test_helper"

class CheckoutTest < ActionDispatch::IntegrationTest
  test "a checkout stores the order at today's prices" do
    items = [{ product_id: 1, quantity: 2 }, { product_id: 9, quantity: 1 }]
    assert_difference -> { Order.count } => 1, -> { OrderItem.count } => 2 do
      post "/checkout", params: { email: "ada@example.com", items: }, as: :json
    end
    assert_response :created
    assert_equal (2 * Product.find(1).price_cents) + Product.find(9).price_cents, response.parsed_body["total_cents"]
  end

  test "form fields do as well" do
    post "/checkout", params: { email: "ada@example.com", items: [{ product_id: 3, quantity: 1 }] }
    assert_response :created
  end

  test "an order of nothing is refused with the reasons" do
    assert_no_difference -> { Order.count } do
      post "/checkout", params: { email: "ada@example.com", items: [] }, as: :json
    end
    assert_response :unprocessable_entity
    assert_includes response.parsed_body["errors"], "Items can't be blank"
  end

  test "a product that does not exist is refused" do
    post "/checkout", params: { email: "ada@example.com", items: [{ product_id: 0, quantity: 1 }] }, as: :json
    assert_response :unprocessable_entity
  end

  test "an order without an address is a bad request" do
    post "/checkout", params: { items: [] }, as: :json
    assert_response :bad_request
  end
end
