require "test_helper"

class PagesTest < ActionDispatch::IntegrationTest
  include UpstreamHelper

  test "the health check answers" do
    get "/up"
    assert_response :success
  end

  test "the product list shows a page of products with category, rating and price" do
    get "/products"
    assert_response :success
    assert_select "article.product", ProductsController::PER_PAGE
    assert_select "article.product:first-of-type" do
      assert_select "h2", Product.first.name
      assert_select ".category", Product.first.category.name
      assert_select ".stars", 1
      assert_select ".price", 1
    end
  end

  test "the pages of the list hold every product once" do
    pages = Product.count.fdiv(ProductsController::PER_PAGE).ceil
    ids = (1..pages).flat_map do |page|
      get "/products", params: { page: }
      css_select("article.product").pluck("id")
    end
    assert_equal Product.order(:id).map { |product| "product_#{product.id}" }, ids
  end

  test "the product page shows reviews and related products of the same category" do
    product = Product.find(7)
    get "/products/7"
    assert_response :success
    assert_select "h1", product.name
    assert_select ".review", product.reviews.size
    assert_select "section:last-of-type li", ProductsController::RELATED
    assert_not_includes product.related(ProductsController::RELATED), product
  end

  test "an unknown product is not found" do
    get "/products/#{Product.maximum(:id) + 1}"
    assert_response :not_found
  end

  test "the search finds what is mentioned in descriptions or reviews, and marks it" do
    get "/search", params: { q: "canvas" }
    assert_response :success
    assert_select "ol > li", SearchesController::RESULTS
    assert_select "mark", { text: /canvas/i, minimum: 1 }
  end

  test "the search takes wildcards literally" do
    get "/search", params: { q: "100%" }
    assert_response :success
    assert_select "p", "Nothing found."
  end

  test "the availability page asks every warehouse" do
    with_upstream { get "/products/7/availability" }
    assert_response :success
    assert_select "tbody tr", Warehouse::NAMES.size
    assert_select "tbody tr:first-of-type td:last-of-type", /\A\d+\z/
  end

  test "a stock service that is down makes a bad gateway, not an error of ours" do
    closed = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    with_upstream_url("http://127.0.0.1:#{closed}") { get "/products/7/availability" }
    assert_response :bad_gateway
  end

  test "the sales report adds up the latest orders" do
    get "/reports/sales", params: { orders: 10 }
    assert_response :success
    cents = Order.order(id: :desc).limit(10).pluck(:total_cents).sum
    assert_select "main p", "Total #{ActionController::Base.helpers.number_to_currency(cents / 100.0)}"
  end
end
