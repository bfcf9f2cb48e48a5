# frozen_string_literal: true

require "test_helper"
require "support/processes"

# In a Ractor of its own the application works as without us, and nothing of it is recorded.
class RactorsTest < Minitest::Test
  include Processes

  def test_calls_and_requests_pass
    program = <<~RUBY
      require "powerband"
      Powerband::Recorder.start
      app = Ractor.make_shareable(Powerband::Middleware.new(Ractor.make_shareable(nil.instance_eval { proc { |env| [env] } })))
      print Ractor.new(app) { |shared| [Powerband::Calls.around(1) { 42 }, Powerband::Calls.preparing(1) { 43 }, shared.call(5)] }.take
    RUBY
    Dir.mktmpdir do |root|
      out, err, = run_ruby("-W0", "-I#{GEM_ROOT}/lib", "-e", program, env: { "POWERBAND_DIR" => root })

      assert_equal ["[42, 43, [5]]", ""], [out, err]
      assert_equal [0, 0], FlightReader.all(root).first.header.values_at(:written, :in_flight)
    end
  end
end
