# frozen_string_literal: true

require "test_helper"
require "active_support"
require "active_support/notifications"
require "support/native_double"
require "support/server_process"

# The names of endpoints as Rails, its engines, Sinatra and Grape have them.
class RoutesTest < Minitest::Test
  include Recording
  include NativeDouble

  def test_engines_and_mounted_applications
    env = { "RUBYOPT" => nil, "RAILS_ENV" => "production", "SECRET_KEY_BASE" => "0" * 64 }
    flight, = PumaServer.run("-t", "1:1", app: "routes.ru", env:) do |server|
      assert_equal "post 3", server.get("/blog/posts/3")
      assert_equal "order 4", server.get("/shop/orders/4")
      2.times { |i| assert_equal %({"id":"#{i}"}), server.get("/api/v1/items/#{i}") }
      server.get("/nowhere/5")
    end
    requests = flight.endpoints.to_h { |endpoint| [endpoint.name, endpoint.counters[:requests]] }

    assert_equal({ "blog/posts#show" => 1, "GET /orders/:id" => 1, "GET /:version/items/:id" => 2 },
                 requests.slice("blog/posts#show", "GET /orders/:id", "GET /:version/items/:id"))
    assert_equal 6, requests.values.sum
    assert_equal 0, flight[:faults]
  end

  Route = Struct.new(:request_method, :path)

  def test_a_name_is_made_once_for_each_route
    subscriber = Powerband::Calls::Routes::Grape.new
    names = [Route.new("GET", "/a/:id(.:format)"), Route.new("GET", "/a/:id(.:format)"), Route.new("POST", "/b")].map do |route|
      Array.new(2) do
        env = { "grape.routing_args" => { route_info: route } }
        subscriber.start("endpoint_run.grape", "1", env:)
        env.fetch("powerband.endpoint")
      end
    end

    assert_equal ["GET /a/:id", "GET /a/:id", "POST /b"], names.map(&:first)
    names.each { |first, second| assert_same first, second }
  end

  def test_a_grape_that_is_different_is_left_alone
    subscriber = Powerband::Calls::Routes::Grape.new
    _, said = capture_io do
      flight = record do
        [{}, { env: {} }, { env: { "grape.routing_args" => {} } }, { env: { "grape.routing_args" => { route_info: 1 } } }]
          .each { |payload| subscriber.start("endpoint_run.grape", "1", payload) }
      end
      assert_equal 3, flight[:faults]
    end

    assert_equal 1, said.scan("powerband:").size
  end
end
