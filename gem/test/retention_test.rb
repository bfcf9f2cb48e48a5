# frozen_string_literal: true

require "test_helper"
require "support/processes"

# What is removed when a process opens its file: what processes that are gone have left, and nothing else.
class RetentionTest < Minitest::Test
  KIB = 1024
  DAY = 86_400
  NOBODY = 4_194_305 # beyond the kernel's highest pid
  HERE = Powerband::Liveness.here
  # Where a header says it; in files next to the flight file at 136.
  ORIGIN = { "flight" => 480 }.freeze
  # However busy the machine is.
  TIME_ENOUGH = "Powerband::Retention.class_eval { private def now = 0 }"

  def setup
    @folder = Dir.mktmpdir
    @own = left(Process.pid, own_start)
  end

  def teardown
    FileUtils.remove_entry(@folder)
  end

  def test_by_age
    old = left(NOBODY, 1, days: 8)
    with_events = [left(NOBODY, 2, days: 8), left(NOBODY, 2, days: 8, kind: "events"), left(NOBODY, 2, days: 8, kind: "bursts")]
    young = left(NOBODY, 3, days: 6)
    still_asked = [left(NOBODY, 4, days: 8), left(NOBODY, 4, days: 1, kind: "events")]
    sweep(keep_s: 7 * DAY)

    assert_equal [@own, young, *still_asked].sort, here
    [old, *with_events].each { |path| refute_path_exists path }
  end

  # A reader that was killed while it made the file leaves it under the name that it had then.
  def test_a_trace_that_was_never_finished
    left(NOBODY, 1, days: 8, kind: "events-0123456789abcdef")
    foreign = left(NOBODY, 2, days: 8, kind: "events-mine")
    left(NOBODY, 3, days: 8)
    left(NOBODY, 3, days: 8, kind: "events-0123456789abcdef")
    sweep(keep_s: 7 * DAY)

    assert_equal [@own, foreign].sort, here
  end

  def test_reports_of_the_set_up
    long_ago = Time.now - (8 * DAY)
    gone = ["setup-#{NOBODY}-1.json", "setup-#{NOBODY}-2.json-0123abcd"].map { |name| made(name, report) }
    foreign = ["setup-#{NOBODY}-1.json.bak", "#{NOBODY}-1.json"].map { |name| made(name) }
    living = made("setup-#{Process.pid}-#{own_start}.json", report)
    elsewhere = made("setup-#{NOBODY}-3.json", report(HERE.namespace + 1))
    [*gone, *foreign, living, elsewhere].each { |path| File.utime(long_ago, long_ago, path) }
    sweep(keep_s: 7 * DAY)

    assert_equal [@own, *foreign, living, elsewhere].sort, here
  end

  # A file on a tmpfs has the time of its making, however long its process went on.
  def test_the_last_request_tells_the_age_where_the_file_does_not
    busy = left(NOBODY, 1, days: 30, last_request_days: 2)
    forgotten = left(NOBODY, 2, days: 30, last_request_days: 9)
    sweep(keep_s: 7 * DAY)

    assert_equal [@own, busy].sort, here
    refute_path_exists forgotten
  end

  def test_by_size_the_oldest_first
    files = [5, 2, 4, 1, 3].map { |days| left(NOBODY, days, days:, kib: 100) }
    sweep(keep_bytes: 250 * KIB)

    assert_equal [files[1], files[3], @own].sort, here
    sweep(keep_bytes: 250 * KIB)
    assert_equal [files[1], files[3], @own].sort, here
  end

  def test_files_of_processes_that_live_stay_however_old_and_large
    living = left(Process.ppid, start_of(Process.ppid), days: 400, kib: 100)
    reused = left(Process.ppid, start_of(Process.ppid) - 1, days: 400)
    exec_before = left(Process.pid, own_start, days: 400, nonce: 1)
    sweep(keep_s: 0, keep_bytes: 0)

    assert_equal [@own, living].sort, here
    [reused, exec_before].each { |path| refute_path_exists path }
  end

  # A container sees no process of another one, but the lock that each holds on its file.
  def test_files_of_other_containers
    running, ended = [1, 2].map { |n| left(NOBODY, n, days: 400) { |h| elsewhere(h, locked: true) } }
    left(NOBODY, 2, days: 400, kind: "bursts")
    beside = left(NOBODY, 1, days: 400, kind: "bursts")
    File.open(running) do |file|
      file.flock(File::LOCK_EX)
      sweep(keep_s: 0, keep_bytes: 0)
    end

    assert_equal [@own, beside, running].sort, here
    refute_path_exists ended
  end

  # It cannot be known here whether these run: not by number, not by size, and by age only after a month.
  def test_files_of_which_nothing_is_known
    recent, old = [20, 40].map do |days|
      [left(NOBODY, days, days:) { |h| elsewhere(h) },
       left(NOBODY, days + 1, days:) { |h| h[480, 24] = "\0" * 24 },
       left(Process.ppid, days + 2, days:) { |h| elsewhere(h) },
       left(NOBODY, days + 3, days:) { |h| h[480, 24] = origin_bytes(HERE.namespace, "\1" * 16) },
       left(NOBODY, days + 4, days:, kind: "events") { |h| h[136, 24] = "\0" * 24 }]
    end
    sweep(keep_s: 50 * DAY, keep_bytes: 0)

    assert_equal [@own, *recent, *old].sort, here
    sweep(keep_s: 0, keep_bytes: 0)

    assert_equal [@own, *recent].sort, here
  end

  # Two processes in separate PID namespaces, as in containers, on one folder. In a chroot the root is no mount point, and its
  # propagation cannot be changed.
  def test_a_container_that_starts_leaves_the_files_of_one_that_runs
    namespace = %w[unshare --pid --fork --mount-proc --propagation unchanged]
    skip "no PID namespaces can be made here" unless system(*namespace, "true", err: File::NULL)

    program = "require 'powerband'; #{TIME_ENOUGH}; Powerband::Recorder.start; $stdout.sync = true
               puts Powerband::Native.path; $stdin.read"
    env = Processes::CLEAN.merge("POWERBAND_DIR" => @folder, "POWERBAND_KEEP" => "0s", "RUBYLIB" => File.join(GEM_ROOT, "lib"))
    container = [*namespace, RbConfig.ruby, "-e", program]
    first, *later = Array.new(3) { IO.popen(env, container, "r+").then { |io| [io, io.gets.chomp] } }
    later.each { |io, _| io.close }
    last = IO.popen(env, container, "r+").then { |io| [io, io.gets.chomp] }

    assert_path_exists first.last
    later.each { |_, path| refute_path_exists path }
  ensure
    [first, last].compact.each { |io, _| io.close }
  end

  # Cleaners of temporary folders go by the time of change, which a mapped file on a tmpfs does not get.
  def test_a_request_an_hour_keeps_the_file_young
    path = "#{@own.delete_suffix('.flight')}.bursts"
    long_ago = File.mtime(made(File.basename(path))) - (8 * DAY)
    touched = lambda do |due_s|
      Powerband::Recorder.instance_variable_set(:@touch_due_s, due_s)
      [@own, path].each { |file| File.utime(long_ago, long_ago, file) if File.exist?(file) }
      Powerband::Native.stub(:path, @own) { Powerband::Calls.each_second }
      [@own, path].select { |file| File.exist?(file) && File.mtime(file) > long_ago }
    end

    assert_equal [@own, path], touched.call(0)
    assert_empty touched.call(Process.clock_gettime(Process::CLOCK_MONOTONIC) + 100)
    File.unlink(@own)
    assert_equal [path], touched.call(0)
  end

  # It leaves alone what is locked, the files of idle processes too.
  def test_systemds_cleaner_leaves_the_file_of_a_process_that_runs
    conf = File.join(@folder, "tmpfiles.conf").tap { |file| File.write(file, "e #{@folder}/at - - - m:1d\n") }
    Dir.mkdir(File.join(@folder, "at"), 0o700)
    clean = -> { system("systemd-tmpfiles", "--clean", conf, %i[out err] => File::NULL) }
    skip "no systemd-tmpfiles here that takes m:" unless clean.call

    Powerband::Native.open(Recording::OPTIONS.merge(root: File.join(@folder, "at")))
    path = Powerband::Native.path
    ended = "#{path}.ended".tap { |file| File.write(file, "") }
    [path, ended].each { |file| File.utime(Time.now - (9 * DAY), Time.now - (9 * DAY), file) }
    clean.call

    assert_path_exists path
    refute_path_exists ended
  ensure
    Powerband::Native.forget
  end

  def test_what_is_not_ours_stays
    foreign = ["notes.txt", "1-2-zzzzzzzz.flight", "1-2-00000000.flight.bak", "x1-2-00000000.flight"].map { |name| made(name) }
    no_magic = made("#{NOBODY}-1-00000001.flight", "something else")
    folder = File.join(@folder, "#{NOBODY}-1-00000002.flight").tap { |path| Dir.mkdir(path) }
    link = File.join(@folder, "#{NOBODY}-1-00000003.flight").tap { |path| File.symlink(foreign.first, path) }
    pipe = File.join(@folder, "#{NOBODY}-1-00000004.events").tap { |path| File.mkfifo(path) }
    sweep(keep_s: 0, keep_bytes: 0)

    assert_equal [@own, *foreign, no_magic, folder, link, pipe].sort, here
  end

  def test_headers_that_lie_cost_nothing_but_the_files_own_time
    lies = [{ 384 => [1 << 63, "Q<"] }, { 24 => [1 << 62, "Q<"], 384 => [1, "Q<"] },
            { 24 => [(1 << 63) - 12, "Q<"], 384 => [1, "Q<"] }, { 20 => [0, "L<"], 384 => [9, "Q<"] }]
    lies.each_with_index do |lie, n|
      left(NOBODY, n, days: 8) { |h| lie.each { |at, (value, type)| h[at, type == "L<" ? 4 : 8] = [value].pack(type) } }
    end
    left(NOBODY, 9, days: 8) { |h| h.slice!(504..) }
    sweep(keep_s: 7 * DAY)

    assert_equal [@own], here
  end

  def test_where_there_is_no_proc_nobody_is_known_to_be_gone
    left(NOBODY, 1, days: 4000)
    before = here
    retention = Powerband::Retention.new(@own, keep_s: 0, keep_bytes: 0)
    Powerband::Liveness.stub(:start_of, nil) { retention.sweep }

    assert_equal before, here
  end

  def test_switched_off
    left(NOBODY, 1, days: 4000, kib: 100)
    before = here
    sweep(keep_s: Float::INFINITY, keep_bytes: Float::INFINITY)

    assert_equal before, here
  end

  # Many processes at once over the same folder: each file goes once, and no process fails.
  def test_processes_that_start_together
    60.times { |n| left(NOBODY, n, days: 8) }
    young = left(NOBODY, 99, days: 1)
    program = "require 'powerband'; #{TIME_ENOUGH}; $stdin.read; print Powerband::Recorder.start"
    go, start = IO.pipe
    env = Processes::CLEAN.merge("POWERBAND_DIR" => @folder, "RUBYLIB" => File.join(GEM_ROOT, "lib"))
    Dir.mkdir(File.join(@folder, Process.uid.to_s), 0o700)
    here.each { |path| FileUtils.mv(path, File.join(@folder, Process.uid.to_s)) if File.file?(path) }
    said = Array.new(4) { IO.popen(env, [RbConfig.ruby, "-e", program], in: go, err: %i[child out]) }
    go.close
    start.close
    said = said.map { |process| process.read.tap { process.close } }

    assert_equal ["true"] * 4, said
    left = Dir.children(File.join(@folder, Process.uid.to_s)).grep_v(/\Acarried/)
    assert_includes left, File.basename(young)
    assert_equal 6, left.size, "the young one, this process's own and those of the four"
  end

  def test_a_folder_that_is_too_large_is_left_for_the_next
    3.times { |n| left(NOBODY, n, days: 8) }
    retention = Powerband::Retention.new(@own, keep_s: 0, keep_bytes: 0)
    clock = [0, *([10_000] * 20)].each
    retention.define_singleton_method(:now) { clock.next }
    retention.sweep

    assert_equal 4, here.size
    sweep(keep_s: 0)
    assert_equal [@own], here
  end

  private

  # As the agent reports its set-up.
  def report(namespace = HERE.namespace)
    %({"v":1,"pid":1,"start_ticks":1,"pid_namespace":#{namespace},"boot_id":"#{HERE.boot.unpack1('H*')}"})
  end

  # By a clock that stands still.
  def sweep(keep_s: Float::INFINITY, keep_bytes: Float::INFINITY)
    retention = Powerband::Retention.new(@own, keep_s:, keep_bytes:)
    retention.define_singleton_method(:now) { 0 }
    retention.sweep
  end

  # Files other than those that the metrics keep.
  def here
    Dir.children(@folder).grep_v(/\Acarried/).map { |name| File.join(@folder, name) }.sort
  end

  def elsewhere(header, locked: false)
    header[480, 24] = origin_bytes(HERE.namespace + 1)
    header[124, 4] = [4].pack("L<") if locked
  end

  def own_start
    start_of(Process.pid)
  end

  def start_of(pid)
    File.read("/proc/#{pid}/stat")[/.*\) (.*)/, 1].split[19].to_i
  end

  def made(name, content = "")
    File.join(@folder, name).tap { |path| File.write(path, content) }
  end

  # A flight file as far as retention reads it: a ring of one record behind the header.
  def left(pid, start, days: 0, last_request_days: nil, kib: 8, kind: "flight", nonce: start)
    bytes = "PBFLIGHT".b.ljust(kib * KIB, "\0")
    at = Time.now - (days * DAY)
    bytes[16, 16] = [192, 1, 4096].pack("L<L<Q<")
    bytes[88, 8] = [nanoseconds(at)].pack("Q<")
    bytes[ORIGIN.fetch(kind, 136), 24] = origin_bytes(HERE.namespace)
    if last_request_days
      bytes[384, 8] = [7].pack("Q<")
      bytes[4104, 8] = [nanoseconds(Time.now - (last_request_days * DAY))].pack("Q<")
    end
    yield bytes if block_given?
    path = made("#{pid}-#{start}-#{nonce.to_s(16).rjust(8, '0')}.#{kind}", bytes)
    File.utime(at, at, path)
    path
  end

  def origin_bytes(namespace, boot = HERE.boot)
    [namespace].pack("Q<") + boot
  end

  def nanoseconds(time)
    (time.to_r * 1_000_000_000).to_i
  end
end
