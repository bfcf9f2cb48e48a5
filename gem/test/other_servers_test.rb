# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# A server that the agent knows nothing of, whose application names the middleware: the file appears with the first request.
class OtherServersTest < Minitest::Test
  # One process with a fiber for each request.
  class Falcon < ServerProcess
    COMMAND = %w[falcon serve --count 1].freeze

    def listen
      ["--bind", "http://127.0.0.1:#{port}"]
    end

    def initialize(*, app:, **)
      super(*, app: ["--config", app], **)
    end
  end

  def test_falcon
    assert_all_recorded(Falcon)
  end

  private

  def assert_all_recorded(server)
    program = server::COMMAND.first
    skip "#{program} is not installed" if Gem::Specification.find_all_by_name(program).empty?
    flights = server.run(app: "with_middleware.ru") { |site| 20.times { |n| assert_equal "hello", site.get("/orders/#{n}") } }
    recorded = flights.flat_map { |flight| flight.endpoints.drop(1) }.group_by(&:name)
    counted = recorded.transform_values { |entries| entries.sum { |entry| entry.counters[:requests] } }

    assert_equal({ "GET /boot" => 1, "GET /orders/:id" => 20 }, counted)
    assert_equal [0, 0], [flights.sum { |f| f[:faults] }, flights.sum { |f| f[:in_flight] }]
  end
end
