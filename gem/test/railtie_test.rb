# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# A Rails application that has the gem in production, without injection.
class RailtieTest < Minitest::Test
  include Processes

  RAILS = { "RUBYOPT" => nil, "RAILS_ENV" => "production", "SECRET_KEY_BASE" => "0" * 64 }.freeze

  def test_the_railtie_measures_a_server
    [[], %w[-w 2], %w[-w 2 --preload]].each do |mode|
      flights = PumaServer.run("-t", "1:3", *mode, app: "rails.ru", env: RAILS) do |server|
        server.await("every worker") { server.flights.size == (mode.empty? ? 1 : 2) }
        assert_equal "item 7", server.get("/items/7")
        server.get("/nowhere/3")
      end

      assert_equal 3, flights.sum { |f| f[:written] }, mode.inspect
      assert_equal [["items#show", 1]], flights.flat_map { |f|
        f.endpoints.select { |e| e.name.include?("#") }.map { |e| [e.name, e.counters[:requests]] }
      }
      flights.each do |flight|
        assert_match(/\Arails \d/, flight[:framework])
        assert_equal [mode.empty? ? 0 : 2, 3], flight.header.values_at(:server_workers, :server_max_threads)
      end
      assert_equal mode.empty? ? [-1] : [0, 1], flights.map { |f| f[:worker_index] }.sort
    end
  end

  def test_it_stays_away_from_tests_and_rake
    [{ "RAILS_ENV" => "test" }, { "RAILS_ENV" => "production", "FAKE_RAKE" => "1" }].each do |env|
      assert_equal "false", middleware_in(env), env.inspect
    end
    assert_equal "true", middleware_in("RAILS_ENV" => "production")
  end

  private

  def middleware_in(env)
    program = <<~RUBY
      if ENV["FAKE_RAKE"]
        require "rake"
        Rake.application.top_level_tasks << "db:migrate"
      end
      Rack::Builder.parse_file(#{File.join(PumaServer::APPS, 'rails.ru').inspect})
      print Rails.application.middleware.include?(Powerband::Middleware)
    RUBY
    out, err, = run_ruby("-I#{GEM_ROOT}/lib", "-rrack", "-e", program, env: RAILS.merge(env))
    err.empty? ? out : err
  end
end
