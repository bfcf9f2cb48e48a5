# frozen_string_literal: true

require "test_helper"
require "support/processes"

# The marker of a process that cannot make its flight file: it is there while the process runs, whatever the disk holds.
class UnrecordedTest < Minitest::Test
  # A limit that no flight file fits in. The marker is held until standard input ends.
  LIMITED = <<~RUBY
    require "powerband"
    Process.setrlimit(:FSIZE, 65_536)
    Powerband::Recorder.start
    $stdout.sync = true
    %s
    puts "given up"
    $stdin.read
  RUBY
  FORK = "fork { exit! }.then { |pid| Process.wait(pid) }"

  def setup
    @root = Dir.mktmpdir
    @folder = File.join(@root, Process.uid.to_s)
  end

  def teardown
    FileUtils.remove_entry(@root)
  end

  def test_a_marker_is_there_while_the_process_runs
    process { assert_equal({ "EFBIG" => 1 }, by_reason) }

    assert_empty Dir.children(@folder), "the process removes it at its end"
  end

  def test_it_names_the_process_is_empty_and_the_only_file
    process do |io|
      name, *others = Dir.children(@folder)
      assert_match(/\A#{io.pid}-\d+-\h{8}\.unrecorded-EFBIG\z/, name)
      assert_empty others
      assert_equal [0, 0o600], File.stat(File.join(@folder, name)).then { |stat| [stat.size, stat.mode & 0o777] }
    end
  end

  # Neither releases the parent's lock nor removes its marker.
  def test_a_child_that_ends_leaves_its_parents_marker
    process(FORK) { assert_equal({ "EFBIG" => 1 }, by_reason) }
  end

  def test_what_a_killed_process_has_left_is_not_counted_and_goes_with_the_next
    process { |io| Process.kill(:KILL, io.pid) }
    left = Dir.children(@folder)

    assert_equal [1, {}], [left.size, by_reason]
    process { refute_includes Dir.children(@folder), left.first }
  end

  def test_a_process_that_records_removes_it_and_leaves_those_that_are_held
    process { |io| Process.kill(:KILL, io.pid) }
    process do
      program = "require 'powerband'; exit Powerband::Recorder.start"
      assert system(environment, RbConfig.ruby, "-e", program)
      assert_equal [{ "EFBIG" => 1 }, 1], [by_reason, Dir.children(@folder).grep(/unrecorded/).size]
    end
  end

  def test_foreign_names_stay
    Dir.mkdir(@folder)
    names = %w[notes.unrecorded-EIO 1-2-00000001.unrecorded-nothing 1-2-00000001.unrecorded-EIO.bak]
    names.each { |name| FileUtils.touch(File.join(@folder, name)) }
    Powerband::Unrecorded.sweep(@folder)

    assert_equal names.sort, Dir.children(@folder).sort
    assert_empty by_reason
    assert_empty Powerband::Unrecorded.by_reason(File.join(@root, "none"))
  end

  private

  def by_reason
    Powerband::Unrecorded.by_reason(@folder)
  end

  def environment
    Processes::CLEAN.merge("POWERBAND_DIR" => @root, "RUBYLIB" => File.join(GEM_ROOT, "lib"))
  end

  # Yields to a process that has given up, and ends it.
  def process(also = "")
    IO.popen(environment, [RbConfig.ruby, "-e", format(LIMITED, also)], "r+", err: File::NULL) do |io|
      assert_equal "given up\n", io.gets
      yield io
    end
  end
end
