# frozen_string_literal: true

require "test_helper"
require "rack"
require "rack/lint"
require "rack/mock"

class MiddlewareTest < Minitest::Test
  include Recording

  def test_rack_lint_finds_nothing_on_either_side
    app = ->(_) { [200, { "content-type" => "text/plain" }, ["hello"]] }
    stack = Rack::Lint.new(Powerband::Middleware.new(Rack::Lint.new(app)))
    flight = record do
      assert_equal "hello", Rack::MockRequest.new(stack).get("/a/1").body
      assert_equal 200, Rack::MockRequest.new(stack).post("/a/1", input: "x=1").status
    end

    assert_equal ["GET /a/:id", "POST /a/:id"], flight.records.map { |r| flight.endpoint_of(r) }
  end

  def test_the_response_is_the_applications_own_object
    response = [201, {}, []].freeze
    record { assert_same response, request { response } }
  end

  # Capitals, several values in one line, a status as text, a body that only enumerates: Rack 3 forbids what Rack 2 had.
  def test_what_rack_2_allows_passes_untouched
    body = Object.new.tap { |each_only| each_only.define_singleton_method(:each) { |&block| block.call("part") } }
    headers = { "Content-Type" => "text/plain", "Set-Cookie" => "a=1\nb=2" }
    env = environment("rack.version" => [1, 3], "rack.multithread" => true, "rack.run_once" => false).freeze
    response = ["200", headers, body]
    flight = record { assert_same response, Powerband::Middleware.new(->(given) { given.equal?(env) && response }).call(env) }

    assert_equal [200], flight.records.map { |r| r[:status] }
  end

  def test_an_exception_passes_unchanged_and_is_recorded
    error = Class.new(StandardError).new("theirs")
    calls = 0
    flight = record do
      raised = assert_raises(error.class) { request { (calls += 1) && raise(error) } }
      assert_same error, raised
      assert_raises(SystemExit) { request { exit } }
      assert_equal :thrown, catch(:done) { request { throw :done, :thrown } }
    end

    assert_equal 1, calls
    assert_equal [[0, 2]] * 3, flight.records.map { |r| r.values_at(:status, :flags) }
    assert_equal 3, flight.totals[:server_errors]
    assert_equal 0, flight[:in_flight]
  end

  def test_statuses
    flight = record { [200, "404", 503, -1, nil, "x", 599].each { |s| request { [s, {}, []] } } }

    assert_equal [200, 404, 503, 0, 0, 0, 599], flight.records.map { |r| r[:status] }
    assert_equal 2, flight.totals[:server_errors]
  end

  def test_answers_that_are_no_rack_response_pass
    record { [nil, [], "no", 5].each { |answer| assert_same answer, request { answer } } }
  end

  def test_two_layers_count_once
    inner = Powerband::Middleware.new(->(_) { [200, {}, []] })
    flight = record { 5.times { Powerband::Middleware.new(inner).call(environment) } }

    assert_equal 5, flight[:written]
  end

  def test_busy_threads_include_the_request_itself
    flight = record do
      entered = Queue.new
      leave = Queue.new
      threads = Array.new(3) do
        Thread.new { request { entered << 1 && leave.pop && [200, {}, []] } }.tap { entered.pop }
      end
      3.times { leave << 1 }
      threads.each(&:join)
    end

    assert_equal [1, 2, 3], flight.records.map { |r| r[:busy_threads] }.sort
    assert_equal 3, flight.records.map { |r| r[:thread_id] }.uniq.size
  end

  # As rack-timeout and a forced shutdown of Puma do, wherever the thread happens to be.
  def test_an_exception_from_outside_at_any_line_leaves_the_thread_recordable
    file = Powerband::Middleware.instance_method(:call).source_location.first
    lines = lines_run(file) { request }
    before_the_end = lines[0...-1]
    assert_operator before_the_end.size, :>=, 4

    flight = record do
      before_the_end.each do |line|
        assert_raises(Interruption) { interrupted_at(file, line) { request } }
        request("PATH_INFO" => "/after")
      end
    end
    after = flight.endpoints.find { |e| e.name == "GET /after" }

    assert_equal before_the_end.size, after.counters[:requests]
    assert_equal 0, flight[:in_flight]
  end

  # Ruby raises it where a method in C returns, too, and it may be a StandardError (a timeout's own class).
  def test_an_exception_from_outside_inside_our_own_calls_passes_and_leaves_the_thread_recordable
    theirs = Class.new(StandardError)
    %i[start finish].each do |native|
      interruption = TracePoint.new(:c_return) do |point|
        raise theirs if point.method_id == native && point.self.equal?(Powerband::Native)
      end
      flight = record do
        assert_raises(theirs, native) { interruption.enable { request } }
        request("PATH_INFO" => "/after")
      end

      assert_equal [2, 0], flight.header.values_at(:written, :in_flight), native
    end
  end

  class Interruption < Exception; end # rubocop:disable Lint/InheritException

  def lines_run(file, &block)
    lines = []
    trace = TracePoint.new(:line) { |point| lines << point.lineno if point.path == file && point.method_id == :call }
    record { trace.enable(target_thread: Thread.current, &block) }
    lines
  end

  def interrupted_at(file, line, &block)
    trace = TracePoint.new(:line) do |point|
      raise Interruption if point.path == file && point.lineno == line && point.method_id == :call
    end
    trace.enable(target_thread: Thread.current, &block)
  end

  # Raises at every question: reading the application's objects must ask them nothing.
  class Hostile < String
    (instance_methods - %i[object_id __send__ __id__]).each do |name|
      define_method(name) { |*| raise "asked for #{name}" }
    end
  end

  class HostileHash < Hash
    %i[[] fetch key? default dig to_h].each { |name| define_method(name) { |*| raise "asked for #{name}" } }
  end

  def test_the_applications_objects_are_asked_nothing
    env = HostileHash.new { |*| raise "asked for a default" }
    sent = Hostile.new("t=#{Time.now.to_i - 1}")
    env.merge!(environment("HTTP_X_REQUEST_START" => sent, "puma.request_body_wait" => Hostile.new,
                           "action_dispatch.request.path_parameters" => HostileHash.new { |*| raise "default" }))
    flight = record { assert_equal 200, Powerband::Middleware.new(->(_) { [200, {}, []] }).call(env).first }

    assert_equal [0, 1], flight.header.values_at(:faults, :written)
    assert_equal 1, flight.totals[:queue_known]
  end

  def test_an_environment_that_is_no_hash_passes
    env = Object.new
    flight = record { assert_equal [200, env], Powerband::Middleware.new(->(e) { [200, e] }).call(env) }

    assert_equal [200], flight.records.map { |r| r[:status] }
  end

  def test_no_ruby_object_is_made_by_us
    app = Powerband::Middleware.new(->(_) { RESPONSE })
    env = environment("action_dispatch.request.path_parameters" => { controller: "a", action: "b" }.freeze,
                      "HTTP_X_REQUEST_START" => "t=#{Time.now.to_f}")
    record do
      app.call(env)
      before = GC.stat(:total_allocated_objects)
      100.times { app.call(env) }
      assert_operator GC.stat(:total_allocated_objects) - before, :<=, 5
    end
  end
  RESPONSE = [200, {}.freeze, [].freeze].freeze
end
