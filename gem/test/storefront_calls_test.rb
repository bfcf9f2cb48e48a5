# frozen_string_literal: true

require "test_helper"
require "support/service"
require "support/storefront"

# The example shop, injected: what the agent counts is what Rails' own log says, page by page.
class StorefrontCallsTest < Minitest::Test
  PAGES = ["/products", "/products?page=2", "/products/3", "/products/4", "/search?q=red", "/reports/sales?orders=20",
           "/products/5/availability", "/up"].freeze
  # "Processing by ProductsController#index" ... "(Views: 5.1ms | ActiveRecord: 1.2ms (5 queries, 1 cached) | GC: 0.0ms)"
  SAID = /Processing by ([\w:]+)Controller#(\w+).*?Completed \d+ .*?ActiveRecord: [\d.]+ms \((\d+) quer\w+, (\d+) cached\)/m

  def test_queries_and_http_calls_of_every_page
    flights, log = Storefront.run("-t", "1:1") do |server|
      2.times { PAGES.each { |page| refute_nil server.get(page) } }
      # At most one a second, and none before the pool was first used.
      server.await("a sample of the pool") { server.get("/up") && server.flights.any? { |f| f.pool_samples.any? } }
      server.await("the log's last line") { server.log.scan("Completed").size >= 2 * PAGES.size }
    end
    counters = flights.fetch(0).endpoints.to_h { |endpoint| [endpoint.name, endpoint.counters] }
    counted = counters.transform_values { |c| c[:sql_count] }

    assert_equal %w[availabilities#show products#index products#show rails/health#show reports/sales#show searches#show],
                 said(log).keys.sort
    assert_equal said(log), counted.slice(*said(log).keys)
    assert_equal [2, 4, 0], counters.fetch("availabilities#show").values_at(:requests, :http_count, :redis_count)
    assert_operator counters["availabilities#show"][:http_ns], :>=, 4 * 30_000_000
    assert_operator counters["availabilities#show"][:http_ns], :<, counters["availabilities#show"][:wall_ns]
    assert_equal 0, flights[0][:faults]
    assert_operator flights[0].pool_samples.size, :>=, 1
    assert_equal [5], flights[0].pool_samples.map { |sample| sample[:size] }.uniq
  end

  private

  # Endpoint => queries that went to the database, by Rails' own account.
  def said(log)
    log.scan(SAID).each_with_object(Hash.new(0)) do |(controller, action, queries, cached), sums|
      name = controller.gsub("::", "/").gsub(/([a-z])([A-Z])/, '\1_\2').downcase
      sums["#{name}##{action}"] += queries.to_i - cached.to_i
    end
  end
end
