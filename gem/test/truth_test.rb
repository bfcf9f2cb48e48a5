# frozen_string_literal: true

require "test_helper"
require "socket"
require "support/neighbour"

# Requests whose split is known beforehand. Only ratios are asserted, with room for a noisy machine.
class TruthTest < Minitest::Test
  include Recording
  include Neighbour

  def spin(seconds)
    ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < ends
    [200, {}, []]
  end

  def allocate(count)
    count.times { Object.new }
    [200, {}, []]
  end

  def share(record, field)
    record[field].fdiv(record[:wall_ns])
  end

  def together(*works)
    gate = Queue.new
    threads = works.each_with_index.map do |work, i|
      Thread.new { gate.pop && request("PATH_INFO" => "/#{i}x") { work.call } }
    end
    Thread.pass until gate.num_waiting == works.size
    works.size.times { gate << true }
    threads.each(&:join)
  end

  def test_sleep_is_io
    record = record { request { sleep(0.2) && [200, {}, []] } }.records.first

    assert_operator share(record, :io_ns), :>, 0.95
    assert_operator share(record, :cpu_ns), :<, 0.1
    assert_operator record[:yields], :>=, 1
  end

  def test_spinning_alone_is_held_and_on_the_cpu
    record = record { request { spin(0.2) } }.records.first

    assert_operator share(record, :held_ns), :>, 0.9
    assert_operator record[:cpu_ns], :>=, 200_000_000
    assert_operator record[:cpu_ns], :<=, record[:wall_ns]
  end

  def test_two_that_spin_wait_for_each_other_and_do_no_io
    flight = record { together(-> { spin(0.5) }, -> { spin(0.5) }) }

    flight.records.zip(flight.records.reverse) do |r, other|
      assert_operator share(r, :io_ns), :<, 0.05
      assert_operator r[:gvl_wait_ns], :>, other[:cpu_ns] * 0.3
    end
    # Whatever the machine does meanwhile: of two that are there, one waits.
    both_ns = flight.records.map { |r| r[:start_mono_ns] + r[:wall_ns] }.min - flight.records.map { |r| r[:start_mono_ns] }.max
    assert_in_delta 1.0, flight.totals[:gvl_wait_ns].fdiv(both_ns), 0.35, "each waits about as long as the other holds"
  end

  def test_allocations_are_exact_and_a_neighbours_are_not_charged
    flight = record do
      together(-> { allocate(300_000) }, -> { allocate(200_000) }, -> { 20.times { sleep(0.005) } && [200, {}, []] })
    end
    counts = flight.records.to_h { |r| [flight.endpoint_of(r), r[:allocations]] }

    assert_in_delta 300_000, counts["GET /0x"], 20
    assert_in_delta 200_000, counts["GET /1x"], 20
    assert_operator counts["GET /2x"], :<, 100
  end

  # On one core the thread that lost the GVL to it is not awake before its turn is over.
  def test_allocations_of_a_thread_in_its_first_turn_are_its_own
    allocated = on_one_core do
      flight = record do
        request do
          5.times do
            new = Thread.new { allocate(100_000) }
            nil while new.alive?
          end
          [200, {}, []]
        end
      end
      flight.records.first[:allocations]
    end

    assert_includes 1..200, allocated.to_i
  end

  # What the block returns, as text.
  def on_one_core
    reader, writer = IO.pipe
    pid = fork do
      core = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\d+)/, 1]
      system("taskset", "-acp", core, Process.pid.to_s, out: File::NULL, exception: true)
      writer << yield
      exit!(true)
    ensure
      exit!(false)
    end
    writer.close
    Process.wait(pid)
    reader.read
  end

  # The first call of a line makes a cache of the interpreter's, an object too: the second request decides.
  def test_gc_stress_changes_no_count
    flight = record do
      2.times do
        request do
          GC.stress = true
          allocate(50)
        ensure
          GC.stress = false
        end
      end
    end

    assert_in_delta 50, flight.records.last[:allocations], 5
  end

  # The other process has started before, because to start one takes the machine as long as it takes.
  def test_waiting_on_a_pipe_is_io
    ours, theirs = UNIXSocket.pair
    pid = spawn("echo ready; read line; sleep 0.4", in: theirs, out: theirs)
    theirs.close
    ours.gets
    record = record { request { (ours << "\n").read && [200, {}, []] } }.records.first
    Process.wait(pid)

    assert_operator share(record, :io_ns), :>, 0.7
  end

  # Threads are born and die while a neighbour serves; their states come and go with them.
  def test_many_short_threads
    flight = record(ring_capacity: 1024) do
      20.times { Array.new(20) { Thread.new { request { Thread.pass && [200, {}, []] } } }.each(&:join) }
    end

    assert_equal 400, flight[:written]
    assert_equal 0, flight[:in_flight]
    flight.records.each { |r| assert_equal r[:wall_ns], r.values_at(:held_ns, :gvl_wait_ns, :lock_wait_ns, :io_ns).sum }
  end

  # Native code that waits without letting go of the GVL: held, and not on the processor.
  def test_a_library_that_sleeps_with_the_gvl_holds_it
    record = record do
      library = holding_library
      request { library.call(200_000) && [200, {}, []] }
    end.records.first

    assert_operator share(record, :held_ns), :>, 0.9
    assert_operator share(record, :cpu_ns), :<, 0.3
    assert_operator share(record, :io_ns), :<, 0.05
  end

  def test_a_neighbour_of_that_library_waits_for_the_gvl
    flight = record do
      library = holding_library
      begun = done = false
      holder = lambda do
        begun = true
        library.call(50_000) && Thread.pass until done
        [200, {}, []]
      end
      spinner = lambda do
        Thread.pass until begun
        4.times { spin(0.001) && Thread.pass } && (done = true) && [200, {}, []]
      end
      together(holder, spinner)
    end
    spinner = flight.records.find { |r| flight.endpoint_of(r) == "GET /1x" }

    # Between its four turns it waits for three of the other's.
    assert_operator spinner[:gvl_wait_ns], :>=, 3 * 50_000_000
    assert_operator spinner[:cpu_ns], :<, spinner[:gvl_wait_ns]
  end

  # What a spinning neighbour adds to each return from I/O is GVL wait and not I/O. In the middle one of nine: a
  # machine that is busy wakes some of them late.
  def test_io_beside_a_neighbour_that_spins_is_as_long_as_without
    sleeps = -> { 9.times { request { sleep(0.01) && [200, {}, []] } } }
    alone, beside = [record(&sleeps), record { beside_a_spinning_thread(&sleeps) }].map do |flight|
      %i[wall_ns io_ns gvl_wait_ns].to_h { |field| [field, flight.records.map { |r| r[field] }.sort[4]] }
    end

    assert_operator beside[:wall_ns], :>, alone[:wall_ns] * 2
    assert_operator beside[:io_ns], :<, alone[:io_ns] * 2
    assert_operator beside[:gvl_wait_ns], :>, beside[:io_ns]
  end

  def test_no_object_is_made_on_any_path
    native = Powerband::Native
    env = environment("HTTP_X_REQUEST_START" => "t=#{Time.now.to_f}", "powerband.endpoint" => "mine")
    response = [200, {}, []].freeze
    all = lambda do
      native.server_start
      started = native.start(env)
      5.times { |kind| native.call_finish(native.call_start(kind), kind) }
      native.finish(started, env, response, false)
      native.server_finish
      native.job_finish(native.job_start(1), "Job", false)
      native.pool_sample(0, 5, 4, 3, 2, 1, 0) if native.pool_due?
    end

    # One more or less is the first call's of a line that counts.
    record(ring_capacity: 1024) { assert_operator objects { 1000.times { all.call } }, :<=, 1 }
  end

  def objects
    yield
    before = GC.stat(:total_allocated_objects)
    yield
    GC.stat(:total_allocated_objects) - before
  end

  def holding_library
    return Holding if defined?(Holding)

    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "holding.c"), <<~C)
        #include <ruby.h>
        #include <unistd.h>
        static VALUE hold(VALUE self, VALUE microseconds) { usleep(NUM2UINT(microseconds)); return Qtrue; }
        void Init_holding(void) { rb_define_singleton_method(rb_define_module("Holding"), "call", hold, 1); }
      C
      headers = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir").map { |path| "-I#{path}" }
      library = File.join(folder, "holding.so")
      assert system("cc", "-shared", "-fPIC", *headers, "-o", library, File.join(folder, "holding.c")), "cc"
      require library
    end
    Holding
  end
end
