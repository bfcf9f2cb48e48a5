# frozen_string_literal: true

# An API in small: orders as JSON, one order as JSON, and a document that a partner sent, read. Nothing here knows
# which library does it.

require "json"
require "time"

# What an API keeps: a hundred orders of one to nine items, the same ones every time.
module Orders
  WORDS = %w[tent stove lamp boot rope map knife glove bottle jacket].freeze
  EPOCH = Time.utc(2026, 1, 1)
  RANDOM = Random.new(42)

  def self.order(id)
    items = Array.new(RANDOM.rand(1..9)) { |n| item(id, n) }
    { "id" => id, "email" => "customer-#{id}@example.com", "placed_at" => (EPOCH - (id * 3600)).iso8601,
      "shipped" => id.even?, "note" => (id % 7).zero? ? nil : "Leave it \"at the door\" – thanks ☂", "items" => items,
      "total" => items.sum { |item| item["price"] * item["quantity"] }.round(2) }
  end

  def self.item(id, number)
    { "sku" => format("SF-%04d", (id * 10) + number), "name" => "#{WORDS[number]} no. #{id}", "quantity" => RANDOM.rand(1..3),
      "price" => RANDOM.rand(1.0..400.0).round(2), "tags" => WORDS.sample(3, random: RANDOM) }
  end

  ALL = (1..100).to_h { |id| [id, order(id)] }
  PAGE = ALL.values.first(50)
  SENT = JSON.generate("orders" => ALL.values)
end

HEADERS = { "content-type" => "application/json" }.freeze
# Which library that was, to ask by hand: Oj's stands in front of JSON's own methods.
LIBRARY = JSON.method(:generate).source_location ? "json" : "oj"

def answer(document, status = 200)
  [status, HEADERS.merge("x-json" => LIBRARY), [JSON.generate(document)]]
end

def imported
  orders = JSON.parse(Orders::SENT).fetch("orders")
  { "orders" => orders.size, "items" => orders.sum { |order| order["items"].size },
    "total" => orders.sum { |order| order["total"] }.round(2) }
end

run(lambda do |env|
  case env["PATH_INFO"]
  when "/orders" then answer({ "orders" => Orders::PAGE, "page" => 1, "of" => 2 })
  when "/import" then answer(imported)
  when %r{\A/orders/(\d+)\z} then answer(Orders::ALL.fetch(Integer(Regexp.last_match(1), 10)))
  else answer({ "error" => "not found" }, 404)
  end
end)
