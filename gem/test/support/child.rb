# frozen_string_literal: true

# For tests that leave something behind, such as Ractors, or that are about a fork.
module Child
  private

  # The assertions of the block are the child's.
  def in_child
    pid = fork do
      $VERBOSE = nil
      yield
      exit!(true)
    rescue Exception => e # rubocop:disable Lint/RescueException
      warn e.full_message
      exit!(false)
    end
    assert_predicate Process.wait2(pid)[1], :success?
  end
end
