# frozen_string_literal: true

require "test_helper"

# The marks around a server's methods, whatever parameters a version of that server gives them.
class ServerSpansTest < Minitest::Test
  include Recording

  # As Puma 5, 6 and 7, and 8 have it; and as a later one might.
  SHAPES = {
    "three_of_puma_5" => ["client, lines, requests", [1, 2, 3], {}],
    "two_of_puma_6" => ["client, requests", [1, 2], {}],
    "an_optional_one" => ["client, requests = 7", [1], {}],
    "a_splat_and_keywords" => ["client, *rest, early: nil, **more", [1, 2, 3], { early: 4, late: 5 }],
    "none" => ["", [], {}]
  }.freeze

  SHAPES.each do |name, (parameters, arguments, keywords)|
    define_method(:"test_#{name}") do
      bare = server(parameters)
      marked = server(parameters)
      Powerband::ServerSpans.mark(marked, :handle_request)

      assert_equal bare.new.handle_request(*arguments, **keywords) { :given },
                   marked.new.handle_request(*arguments, **keywords) { :given }
    end
  end

  def test_what_was_private_stays_private_and_a_mark_is_made_once
    owner = server("client")
    owner.send(:private, :handle_request)
    2.times { Powerband::ServerSpans.mark(owner, :handle_request) }

    assert_raises(NoMethodError) { owner.new.handle_request(1) }
    assert_equal 1, (owner.instance_methods(false) + owner.private_instance_methods(false)).grep(/_without_/).size
  end

  def test_a_method_that_is_not_there
    assert_raises(NameError) { Powerband::ServerSpans.mark(Class.new, :handle_request) }
  end

  def test_no_object_is_made_for_what_servers_have_today
    owner = Class.new { def handle_request(_client, _requests) = nil }
    Powerband::ServerSpans.mark(owner, :handle_request)
    instance = owner.new
    record do
      instance.handle_request(1, 2)
      before = GC.stat(:total_allocated_objects)
      100.times { instance.handle_request(1, 2) }
      assert_operator GC.stat(:total_allocated_objects) - before, :<=, 5
    end
  end

  def test_the_application_between_start_and_finish_is_timed_on_both_sides
    owner = Struct.new(:app) { def handle_request(env) = sleep(0.02) && app.call(env).tap { sleep(0.03) } }
    Powerband::ServerSpans.mark(owner, :handle_request)
    flight = record { owner.new(Powerband::Middleware.new(->(_) { [200, {}, []] })).handle_request(environment) }
    request = flight.records.first

    assert_operator request[:parse_us], :>=, 20_000
    assert_operator request[:write_us], :>=, 30_000
    assert_operator request[:wall_ns], :<, 20_000_000
  end

  # What the server raises and throws passes, and the record is there.
  def test_a_server_that_fails_while_it_writes
    owner = Class.new { def handle_request(app, env) = app.call(env) && raise(IOError, "gone") }
    Powerband::ServerSpans.mark(owner, :handle_request)
    app = Powerband::Middleware.new(->(_) { [200, {}, []] })
    flight = record { 2.times { assert_raises(IOError) { owner.new.handle_request(app, environment) } } }

    assert_equal [2, 0], flight.header.values_at(:written, :in_flight)
  end

  # Ruby looks for exceptions of other threads where a method returns, one written in C too.
  def test_an_exception_of_another_threads_that_comes_as_a_mark_is_left_passes
    owner = Class.new { def handle_request = :answered }
    Powerband::ServerSpans.mark(owner, :handle_request)
    %i[server_start server_finish].each do |mark|
      raising(mark, RuntimeError) { assert_raises(RuntimeError) { owner.new.handle_request } }
      raising(mark, TypeError) do
        assert_output("", nil) { assert_equal :answered, owner.new.handle_request }
      end
    end
  end

  private

  def raising(mark, error)
    native = Powerband::Native.singleton_class
    original = native.instance_method(mark)
    native.remove_method(mark)
    native.define_method(mark) { raise error, "on purpose" }
    yield
  ensure
    native.remove_method(mark)
    native.define_method(mark, original)
  end

  # Answers everything that it was given.
  def server(parameters)
    Class.new do
      class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
        def handle_request(#{parameters})
          [*binding.local_variables.map { |name| binding.local_variable_get(name) }, yield]
        end
      RUBY
    end
  end
end
