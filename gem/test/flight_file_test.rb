# frozen_string_literal: true

require "test_helper"
require "socket"

# Whatever lies in the folder, and whatever happens to it meanwhile, is read or left out.
class FlightFileTest < Minitest::Test
  SAMPLES = File.expand_path("../contract/samples/flight", GEM_ROOT)
  SAMPLE = File.binread(File.join(SAMPLES, "basic.flight"))

  def in_folder
    Dir.mktmpdir do |folder|
      File.binwrite(File.join(folder, "sound.flight"), SAMPLE)
      yield folder
    end
  end

  # Requests, and files left out.
  def read(folder)
    reading = Powerband::Metrics::Folder.new(folder).read(nil)
    [reading.sums.totals[0], reading.gauges[:unreadable]]
  end

  def test_what_is_no_regular_file_is_left_out_and_not_waited_for
    in_folder do |folder|
      Dir.mkdir(File.join(folder, "folder.flight"))
      File.symlink("sound.flight", File.join(folder, "link.flight"))
      File.symlink("nowhere", File.join(folder, "dangling.flight"))
      File.mkfifo(File.join(folder, "pipe.flight"))
      UNIXServer.open(File.join(folder, "socket.flight")) { assert_equal [40, 5], read(folder) }
    end
  end

  def test_foreign_damaged_and_unfinished_files
    in_folder do |folder|
      File.write(File.join(folder, "empty.flight"), "")
      File.write(File.join(folder, "foreign.flight"), "GIF89a" * 1000)
      File.write(File.join(folder, "made.flight"), "\0" * 4096)
      File.binwrite(File.join(folder, "cut.flight"), SAMPLE.byteslice(0, 300))
      File.binwrite(File.join(folder, "no_totals.flight"), SAMPLE.byteslice(0, 4200))

      assert_equal [40, 4], read(folder)
    end
  end

  def test_a_file_that_may_not_be_read_is_left_out
    in_folder do |folder|
      path = File.join(folder, "locked.flight")
      File.binwrite(path, SAMPLE)
      File.chmod(0, path)
      locked = File.readable?(path) ? [80, 0] : [40, 1]

      assert_equal locked, read(folder)
    end
  end

  def test_a_header_that_asks_for_gigabytes_is_refused
    in_folder do |folder|
      { 32 => 1 << 10, 48 => 1 << 16, 52 => 1 << 16, 64 => 1 << 16, 36 => 0xFFFFFFFF }.each do |offset, value|
        File.binwrite(File.join(folder, "huge.flight"), SAMPLE.dup.tap { |bytes| bytes[offset, 4] = [value].pack("L<") })
        before = GC.stat(:malloc_increase_bytes)
        read(folder)
        assert_operator GC.stat(:malloc_increase_bytes) - before, :<, 1 << 24, offset
      end
    end
  end

  # Cut at every place, and with any four bytes of the header replaced: counted or left out, nothing else.
  def test_any_damage_is_survived
    dice = Random.new(11)
    in_folder do |folder|
      path = File.join(folder, "sound.flight")
      400.times do |round|
        bytes = SAMPLE.byteslice(0, round.even? ? SAMPLE.bytesize : dice.rand(SAMPLE.bytesize))
        place = dice.rand(8..1100)
        bytes[place, 4] = dice.bytes(4) if place + 4 <= bytes.bytesize
        File.binwrite(path, bytes)
        _, unreadable = read(folder)
        assert_includes [0, 1], unreadable
      end
    end
  end

  def test_ten_thousand_files
    Dir.mktmpdir do |folder|
      10_000.times { |n| File.binwrite(File.join(folder, "#{n}.flight"), SAMPLE) if n < 100 }
      (100...10_000).each { |n| File.link(File.join(folder, "#{n % 100}.flight"), File.join(folder, "#{n}.flight")) }

      assert_equal [400_000, 0], read(folder)
    end
  end

  # Read again and again while another process makes it shorter and longer.
  def test_a_file_that_is_cut_and_grows_while_it_is_read
    in_folder do |folder|
      path = File.join(folder, "sound.flight")
      ready, go = IO.pipe
      pid = fork do
        ready.close
        go.write("x")
        dice = Random.new(3)
        loop do
          File.truncate(path, dice.rand(SAMPLE.bytesize))
          File.binwrite(path, SAMPLE, 0)
        end
      end
      ready.read(1)
      results = Array.new(300) { read(folder) }
      assert_empty(results.reject { |_, unreadable| [0, 1].include?(unreadable) })
    ensure
      Process.kill("KILL", pid)
      Process.wait(pid)
    end
  end
end
