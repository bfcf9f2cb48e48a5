# frozen_string_literal: true

require "test_helper"

# The states of threads: one each, given back at their end, and never more than there were threads at once.
class ThreadsTest < Minitest::Test
  include Recording

  NATIVE = Powerband::Native

  def in_a_child
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer << Marshal.dump(yield)
      writer.close
      exit!(0)
    end
    writer.close
    answer = reader.read
    assert_predicate Process.wait2(pid).last, :success?
    Marshal.load(answer) # rubocop:disable Security/MarshalLoad
  end

  # On Ruby 3.2 a thread has one once it runs.
  def test_each_thread_has_a_state_until_its_end
    Thread.pass until (Thread.list - [Thread.current]).all?(&:stop?)
    before, = NATIVE.thread_states
    threads = Array.new(30) { Thread.new { sleep } }
    Thread.pass until threads.all?(&:stop?)
    assert_equal before + 30, NATIVE.thread_states.first

    threads.each(&:kill).each(&:join)
    Thread.pass until NATIVE.thread_states.first <= before
  end

  def test_what_was_made_is_used_again
    threads = ->(count) { Array.new(count) { Thread.new { request } }.each(&:join) }
    threads.call(40)
    _, made = NATIVE.thread_states
    20.times { threads.call(10) }

    assert_equal made, NATIVE.thread_states.last
  end

  # Each child starts threads and forks in its turn, as a server's workers do.
  def test_forks_of_forks_with_threads_do_not_grow
    Array.new(10) { Thread.new { nil } }.each(&:join)
    _, made = NATIVE.thread_states
    states = generation(12)

    assert_equal 12, states.size
    states.each { |used, all| assert_equal [1, [made, 11].max], [used, [all, 11].max] }
  end

  def generation(left)
    return [] if left.zero?

    in_a_child do
      mine = NATIVE.thread_states
      threads = Array.new(5) { Thread.new { sleep } }
      Thread.pass until threads.all?(&:stop?)
      [mine] + generation(left - 1)
    end
  end

  def test_a_child_of_a_serving_thread_serves_on
    status = nil
    flight = record do
      request do
        status = in_a_child do
          Dir.mktmpdir do |root|
            NATIVE.open(Recording::OPTIONS.merge(root:))
            NATIVE.call_start(0)
            2.times { request }
            FlightReader.new(File.binread(NATIVE.path)).header.values_at(:written, :in_flight)
          end
        end
        [200, {}, []]
      end
    end

    assert_equal [2, 0], status
    assert_equal [1, 0], flight.header.values_at(:written, :in_flight)
  end
end
