# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# Applications whose Gemfile does not know the agent, and one whose Gemfile does.
class BundlerTest < Minitest::Test
  include Processes

  def with_application(gemfile)
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "Gemfile"), "source 'https://rubygems.org'\n#{gemfile}")
      FileUtils.cp(Dir[File.join(PumaServer::APPS, "*.ru")], folder)
      out, err, status = run_ruby("-S", "bundle", "install", "--local", chdir: folder)
      assert_predicate status, :success?, "bundle install --local needs the system's puma and rack gems: #{out}#{err}"
      yield folder
    end
  end

  def test_bundle_exec_whose_gemfile_does_not_know_the_agent
    with_application("gem 'puma'\ngem 'rack'\n") do |folder|
      flights = PumaServer.run("-w", "2", "-t", "1:2", command: %w[bundle exec puma], chdir: folder) do |server|
        server.await("both workers") { server.flights.size == 2 }
        3.times { server.get("/bundled") }
      end

      assert_equal [4, 2, 0], [flights.sum { |f| f[:written] }, flights.size, flights.sum { |f| f[:faults] }]
      assert_includes flights.flat_map { |f| f.endpoints.map(&:name) }, "GET /bundled"
    end
  end

  def test_bundler_is_silent_and_sees_no_new_gem
    with_application("gem 'rack'\n") do |folder|
      program = 'require "bundler/setup"; print Gem.loaded_specs.keys.grep(/powerband/).inspect, Powerband.constants.inspect'
      out, err, = run_injected(RbConfig.ruby, "-S", "bundle", "exec", "ruby", "-e", program, chdir: folder)

      assert_equal ["[][:Inject]", ""], [out, err]
    end
  end

  def test_an_application_that_names_the_gem_and_is_injected_counts_once
    with_application("gem 'puma'\ngem 'rack'\ngem 'powerband', path: #{GEM_ROOT.inspect}\n") do |folder|
      flights = PumaServer.run("-t", "1:2", command: %w[bundle exec puma], chdir: folder, app: "with_middleware.ru") do |server|
        5.times { server.get("/both") }
      end

      assert_equal [[6, 2]], flights.map { |f| f.header.values_at(:written, :server_max_threads) }
    end
  end
end
