# frozen_string_literal: true

require "test_helper"
require "support/processes"

class FlightTest < Minitest::Test
  include Recording
  include Processes

  def test_the_header_says_what_it_was_told
    flight = record(app_root: "/srv/#{'ü' * 80}") { nil }

    assert_equal({ version: 1, state: 1, pid: Process.pid, parent_pid: Process.ppid, worker_index: 1, server_workers: 2,
                   server_min_threads: 1, server_max_threads: 3, server_preload: 0, flags: 29, written: 0,
                   ring_capacity: 64, endpoint_capacity: 256, ruby_version: RUBY_VERSION, server_name: "test 1" },
                 flight.header.slice(:version, :state, :pid, :parent_pid, :worker_index, :server_workers,
                                     :server_min_threads, :server_max_threads, :server_preload, :flags, :written,
                                     :ring_capacity, :endpoint_capacity, :ruby_version, :server_name))
    assert_predicate flight[:app_root].dup.force_encoding("UTF-8"), :valid_encoding?
    assert_equal File.read("/proc/self/stat").rpartition(")").last.split[19].to_i, flight[:start_ticks]
    assert_equal Powerband::Liveness.here, Powerband::Liveness::Origin.new(flight[:pid_namespace], flight[:boot_id])
  end

  # The lock says to other containers that the process runs; a forked child does not keep it.
  def test_the_file_is_locked_until_its_process_ends_or_calls_exec
    program = 'require "powerband"; Powerband::Recorder.start; puts Powerband::Native.path
               fork { sleep }.then { |child| puts child }; $stdout.flush; $stdin.gets; eval(ARGV[0])'
    ["exit!", "Process.kill(:KILL, $$)", "exec('sleep', '60')"].each do |ending|
      Dir.mktmpdir do |root|
        env = CLEAN.merge("POWERBAND_DIR" => root)
        IO.popen(env, [RbConfig.ruby, "-I#{GEM_ROOT}/lib", "-e", program, ending], "r+") do |process|
          path, child = Array.new(2) { process.gets.chomp }
          assert Powerband::Liveness.locked?(path)
          process.puts
          Timeout.timeout(20) { sleep 0.01 while Powerband::Liveness.locked?(path) }
        ensure
          [child.to_i, process.pid].each { |pid| Process.kill(:KILL, pid) rescue nil } # rubocop:disable Style/RescueModifier
        end
      end
    end
  end

  def test_unknown_settings_say_so
    flight = record(worker_index: nil, workers: nil, min_threads: nil, max_threads: nil, preload: nil) { nil }

    assert_equal [-1] + ([FlightReader::UNKNOWN] * 4),
                 flight.header.values_at(:worker_index, :server_workers, :server_min_threads, :server_max_threads,
                                         :server_preload)
  end

  def test_nothing_is_lost_to_the_totals_when_the_ring_wraps
    flight = record { 150.times { |n| request("PATH_INFO" => "/#{n.even? ? 'even' : 'odd'}") } }
    odd = flight.endpoints.find { |e| e.name == "GET /odd" }

    assert_equal 150, flight[:written]
    assert_equal (87..150).to_a, flight.records.map { |r| r[:sequence] }
    assert_equal 150, flight.totals[:requests]
    assert_equal 75, odd.counters[:requests]
    assert_equal 75, odd.wall_histogram.values.sum
    assert_equal 75, odd.gvl_wait_histogram.values.sum
    FlightReader::COUNTERS.each { |name| assert_equal flight.totals[name], flight.endpoints.sum { |e| e.counters[name] } }
  end

  # Its user may write into it, by mistake or as a reader that asks for a trace.
  def test_a_spoilt_file_leads_no_write_astray
    record do
      path = Powerband::Native.path
      whole = File.binread(path, 4096)
      File.write(path, [1 << 31].pack("L<"), 20, mode: "r+b")
      File.write(path, [1 << 30].pack("Q<"), 384, mode: "r+b")
      2.times { request }
      numbers = Array.new(2) { |n| File.binread(path, 8, whole.unpack1("Q<", offset: 24) + (192 * n)).unpack1("Q<") }
      assert_equal [(1 << 30) + 1, (1 << 30) + 2], numbers
      File.write(path, whole, 0, mode: "r+b")
    end
  end

  # What lies between the readings of the two clocks.
  CLOCKS_APART_NS = 50_000

  # Thread CPU counts from the end of the thread's previous request: a collection between the two is in it.
  def test_every_record_adds_up
    flight = record { 30.times { request { [200, {}, [sleep(0.001)]] } } }

    flight.records.each do |r|
      assert_equal r[:wall_ns], r[:held_ns] + r[:gvl_wait_ns] + r[:lock_wait_ns] + r[:io_ns]
    end
    flight.records.each_cons(2) do |before, r|
      assert_operator r[:cpu_ns], :<=, ended_ns(r) - ended_ns(before) + CLOCKS_APART_NS
    end
    assert_equal flight.records.sum { |r| r[:wall_ns] }, flight.totals[:wall_ns]
  end

  def test_file_and_folder_are_private
    Dir.mktmpdir do |root|
      Powerband::Native.open(Recording::OPTIONS.merge(root: File.join(root, "a/b")))
      path = Powerband::Native.path

      assert_equal 0o600, File.stat(path).mode & 0o777
      assert_equal 0o700, File.stat(File.dirname(path)).mode & 0o777
      assert_match(%r{/a/b/#{Process.uid}/#{Process.pid}-\d+-\h{8}\.flight\z}, path)
      assert_equal File.stat(path).size, File.stat(path).blocks * 512, "no holes"
    ensure
      Powerband::Native.forget
    end
  end

  def test_a_folder_that_others_may_enter_is_refused
    Dir.mktmpdir do |root|
      folder = File.join(root, Process.uid.to_s)
      Dir.mkdir(folder, 0o755)
      error = assert_raises(RuntimeError) { Powerband::Native.open(Recording::OPTIONS.merge(root:)) }

      assert_match(/not private.*remove it or set POWERBAND_DIR/, error.message)
      assert_empty Dir.children(folder)
    end
  end

  def test_a_link_in_place_of_the_folder_is_refused
    Dir.mktmpdir do |root|
      Dir.mkdir(File.join(root, "elsewhere"), 0o700)
      File.symlink("elsewhere", File.join(root, Process.uid.to_s))

      assert_raises(RuntimeError) { Powerband::Native.open(Recording::OPTIONS.merge(root:)) }
      assert_empty Dir.children(File.join(root, "elsewhere"))
    end
  end

  # What somebody made and named stays as it is; the one in /tmp is shared by users.
  def test_only_the_default_root_is_made_for_all_users
    Dir.mktmpdir do |folder|
      modes = [false, true].map do |default_root|
        root = File.join(folder, "a/#{default_root}")
        Powerband::Native.open(Recording::OPTIONS.merge(root:, default_root:))
        Powerband::Native.forget
        [root, File.dirname(root)].map { |path| format("%o", File.stat(path).mode & 0o7777) }
      end

      assert_equal [%w[755 755], %w[1777 755]], modes
    ensure
      Powerband::Native.forget
    end
  end

  def test_a_link_in_place_of_the_default_root_is_refused
    Dir.mktmpdir do |folder|
      Dir.mkdir(File.join(folder, "elsewhere"), 0o700)
      root = File.join(folder, "root").tap { |link| File.symlink("elsewhere", link) }

      assert_raises(RuntimeError) { Powerband::Native.open(Recording::OPTIONS.merge(root:, default_root: true)) }
      assert_raises(Powerband::Folder::Distrusted) { Powerband::Folder.new(root, default_root: true).checked }
      assert_empty Dir.children(File.join(folder, "elsewhere"))
    end
  end

  # In Ruby as in C.
  ROOTS = [
    [0o777, nil, /everybody may write .* chmod \+t/], [0o757, nil, /everybody/], [0o1777, nil, nil], [0o775, nil, nil],
    [0o755, :other, /belongs to another user/], [0o777, :other, /another user/], [0o1777, :other, nil]
  ].freeze

  def test_a_root_that_others_may_change_is_refused
    ROOTS.each do |mode, owner, wrong|
      next if owner && !Process.uid.zero?

      Dir.mktmpdir do |root|
        File.chown(65_534, nil, root) if owner
        File.chmod(mode, root)
        said = [-> { Powerband::Native.open(Recording::OPTIONS.merge(root:)) && nil },
                -> { Powerband::Folder.new(root).made && nil }].map { |open| open.call.to_s rescue $!.message } # rubocop:disable all

        said.each { |message| wrong ? assert_match(wrong, message) : assert_empty(message) }
      ensure
        Powerband::Native.forget
      end
    end
  end

  def test_a_ring_of_an_impossible_size_is_refused
    [0, 63, 100, 2_097_152].each do |capacity|
      assert_raises(ArgumentError) { Powerband::Native.open(Recording::OPTIONS.merge(root: "/nowhere", ring_capacity: capacity)) }
    end
  end

  def test_a_child_records_in_a_file_of_its_own
    Dir.mktmpdir do |root|
      Powerband::Native.open(Recording::OPTIONS.merge(root:))
      request
      pid = fork do
        exit!(2) if Powerband::Native.path
        Powerband::Native.open(Recording::OPTIONS.merge(root:, worker_index: 7))
        3.times { request }
        Powerband::Native.close
        exit!(0)
      end

      assert_predicate Process.wait2(pid).last, :success?
      parent, child = FlightReader.all(root).partition { |f| f[:pid] == Process.pid }.map(&:first)

      assert_equal [1, 1], parent.header.values_at(:written, :state)
      assert_equal [3, 2, 7, pid], child.header.values_at(:written, :state, :worker_index, :pid)
    ensure
      Powerband::Native.forget
    end
  end

  def test_space_whose_allocation_was_interrupted_is_asked_for_again
    Dir.mktmpdir do |folder|
      interrupting = write_interruptions(folder)
      program = <<~RUBY
        require "powerband"
        print Powerband::Recorder.start, Powerband::Middleware.new(->(_) { [204, {}, []] }).call({}).first
      RUBY
      { "5" => "true204", "1000000" => "false204" }.each do |interruptions, expected|
        env = { "LD_PRELOAD" => interrupting, "INTERRUPTIONS" => interruptions, "POWERBAND_DIR" => folder }
        out, err, = run_ruby("-I#{GEM_ROOT}/lib", "-e", program, env:)
        assert_equal expected, out, err
      end
      assert_equal 1, FlightReader.all(folder).size
    end
  end

  def test_an_end_in_good_order_is_told_from_a_kill
    Dir.mktmpdir do |root|
      program = 'require "powerband"; Powerband::Recorder.start; fork { Powerband::Recorder.start }; Process.wait; eval(ARGV[0])'
      [["exit 3", 3, [2, 2]], ["exit!(4)", 4, [1, 2]], ["raise 'x'", 1, [2, 2]]].each do |ending, code, states|
        _, _, status = run_ruby("-I#{GEM_ROOT}/lib", "-e", program, ending, env: { "POWERBAND_DIR" => "#{root}/#{code}" })
        assert_equal [code, states], [status.exitstatus, FlightReader.all("#{root}/#{code}").map { |f| f[:state] }.sort]
      end
    end
  end

  def test_an_application_that_forks_while_it_serves_is_counted_once
    child = nil
    flight = record do
      request { (child = fork) && [200, {}, []] }
      exit!(Powerband::Native.path ? 1 : 0) unless child
    end

    assert_predicate Process.wait2(child).last, :success?
    assert_equal [1, 0], flight.header.values_at(:written, :in_flight)
  end

  private

  def ended_ns(record)
    record[:start_mono_ns] + record[:wall_ns]
  end

  # A library whose posix_fallocate is interrupted $INTERRUPTIONS times before it does what the real one does.
  def write_interruptions(folder)
    library = File.join(folder, "interrupting.so")
    source = File.join(folder, "interrupting.c")
    File.write(source, <<~C)
      #include <errno.h>
      #include <stdlib.h>
      #include <sys/types.h>
      #include <unistd.h>
      int posix_fallocate(int fd, off_t offset, off_t length) {
          static int count;
          if (count++ < atoi(getenv("INTERRUPTIONS"))) return EINTR;
          return ftruncate(fd, offset + length) == 0 ? 0 : errno;
      }
      int posix_fallocate64(int fd, off_t offset, off_t length) { return posix_fallocate(fd, offset, length); }
    C
    assert system("cc", "-shared", "-fPIC", "-o", library, source), "cc"
    library
  end
end
