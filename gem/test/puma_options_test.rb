# frozen_string_literal: true

require "test_helper"

# Where the options of a Puma::Server are: script/matrix runs the tests with a real Puma 5, which has no reader for them.
class PumaOptionsTest < Minitest::Test
  class Five
    def initialize
      @options = { workers: 2 }
    end
  end

  class Six < Five
    attr_reader :options
  end

  def test_with_a_reader_and_without
    assert_equal [{ workers: 2 }] * 2, [Five, Six].map { |server| Powerband::PumaHooks.options(server.new) }
  end
end
