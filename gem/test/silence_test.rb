# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# Where nothing serves, the agent leaves no file and says nothing, however wrong its settings are.
class SilenceTest < Minitest::Test
  include Processes

  RAILS = { "RAILS_ENV" => "production", "SECRET_KEY_BASE" => "0" * 64 }.freeze
  # What each leaves behind in the process by the time that the application is initialised.
  PLACES = {
    "a console" => "module Rails; class Console; end; end",
    "a script" => "module Rails; module Command; class RunnerCommand; end; end; end",
    "a list of routes" => "module Rails; module Command; class RoutesCommand; end; end; end",
    "a Rake task" => 'require "rake"; Rake.application.top_level_tasks << "db:migrate"',
    "a test" => 'ENV["RAILS_ENV"] = "test"'
  }.freeze

  PLACES.each do |place, mark|
    define_method(:"test_#{place}") do
      program = <<~RUBY
        require "rails"
        #{mark}
        Rack::Builder.parse_file(#{File.join(ServerProcess::APPS, 'rails.ru').inspect})
        app = Rails.application
        print app.middleware.include?(Powerband::Middleware), app.call(Rack::MockRequest.env_for("/items/7")).first
      RUBY
      assert_silent_and_without_files("false200", "-rrack", "-rrack/mock", "-e", program, env: RAILS)
    end
  end

  def test_a_plain_applications_own_tests
    program = <<~RUBY
      require "powerband"
      app = Powerband::Middleware.new(->(_) { [204, {}, []] })
      3.times { print app.call("PATH_INFO" => "/").first }
    RUBY
    %w[RACK_ENV RAILS_ENV].each do |name|
      assert_silent_and_without_files("204204204", "-e", program, env: { name => "test" })
    end
  end

  def test_any_process_whose_gemfile_has_the_gem
    assert_silent_and_without_files("1", "-rpowerband", "-e", "print 1")
  end

  # All of them load the application.
  def test_real_commands_of_rails
    Dir.mktmpdir do |root|
      FileUtils.mkdir(File.join(root, "config"))
      tiny = File.read(File.join(ServerProcess::APPS, "rails.ru")).sub(/^TinyApplication.initialize!.*/m, "")
      File.write(File.join(root, "config/application.rb"), tiny)
      File.write(File.join(root, "config/environment.rb"), 'require_relative "application"; TinyApplication.initialize!')
      bin = "APP_PATH = #{File.join(root, 'config/application').inspect}; require 'rails/commands'"
      [%w[routes], %w[middleware], ["runner", "print 1"]].each do |command|
        env = RAILS.merge("POWERBAND_RING" => "7", "POWERBAND_DIR" => File.join(root, "flight"))
        out, err, status = run_ruby("-I#{GEM_ROOT}/lib", "-e", bin, *command, env:, chdir: root)

        assert_equal ["", 0], [err, status.exitstatus], command
        refute_empty out, command
      end
      refute_path_exists File.join(root, "flight")
    end
  end

  # The same settings are complained of where something serves.
  def test_a_server_says_what_is_wrong
    program = <<~RUBY
      Rack::Builder.parse_file(#{File.join(ServerProcess::APPS, 'rails.ru').inspect})
      print Rails.application.middleware.include?(Powerband::Middleware)
    RUBY
    out, err, = run_ruby("-I#{GEM_ROOT}/lib", "-rrack", "-e", program, env: RAILS.merge("POWERBAND_RING" => "7"))

    assert_equal "true", out
    assert_equal "powerband: POWERBAND_RING=7: it must be a power of two from 64 to 1048576; using 16384\n", err
  end

  private

  def assert_silent_and_without_files(expected, *arguments, env: {})
    Dir.mktmpdir do |root|
      wrong = { "POWERBAND_RING" => "7", "POWERBAND_KEEP" => "x", "POWERBAND_DIR" => root }
      out, err, status = run_ruby("-I#{GEM_ROOT}/lib", *arguments, env: wrong.merge(env))

      assert_equal [expected, "", 0], [out, err, status.exitstatus]
      assert_empty Dir.children(root)
    end
  end
end
