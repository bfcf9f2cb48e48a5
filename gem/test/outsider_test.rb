# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# A client that asks for paths of its own invention, by a real Puma: what the application names keeps its places.
class OutsiderTest < Minitest::Test
  ROUTES = 100

  def test_random_paths_leave_the_routes_their_places
    flight, = PumaServer.run("-t", "1:1", app: "gate.ru") do |server|
      Net::HTTP.start("127.0.0.1", server.port) do |http|
        [301, 401, 403, 404, 500].each { |status| 300.times { |n| http.get("/#{status}/#{word(n)}") } }
        ROUTES.times { |n| http.get("/routes/#{n}") }
      end
    end
    requests = flight.endpoints.to_h { |endpoint| [endpoint.name, endpoint.counters[:requests]] }

    assert_equal [300] * 4, requests.values_at("GET (301)", "GET (401)", "GET (403)", "GET (not found)")
    assert_equal [1] * ROUTES, Array.new(ROUTES) { |n| requests["route #{n}"] }
    assert_operator requests.keys.grep(%r{/page}).size, :<=, 128
    assert_equal flight[:endpoints_lost], requests["(other)"]
  end

  private

  # Letters alone, which stay as they are.
  def word(number)
    "page#{number.to_s.tr('0-9', 'a-j')}"
  end
end
