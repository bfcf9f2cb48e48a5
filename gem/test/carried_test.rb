# frozen_string_literal: true

require "test_helper"

# The removal of flight files, which takes nothing from the sums, wherever it is interrupted.
class CarriedTest < Minitest::Test
  Carried = Powerband::Metrics::Carried
  SAMPLE = File.expand_path("../contract/samples/flight/wrapped.flight", GEM_ROOT)
  REQUESTS = 150

  def in_folder(files)
    Dir.mktmpdir do |folder|
      paths = files.map { |name| File.join(folder, "#{name}.flight").tap { |path| FileUtils.cp(SAMPLE, path) } }
      yield folder, paths
    end
  end

  def requests(folder)
    Powerband::Metrics::Folder.new(folder).read(nil).sums.totals[0]
  end

  def starts(folder)
    place = Powerband::FlightFile::Process.members.index(:starts)
    Powerband::Metrics::Folder.new(folder).read(nil).sums.process[place]
  end

  def test_removed_files_go_on_counting
    in_folder(%w[a b c]) do |folder, paths|
      assert_equal paths.first(2), Carried.retire(folder, paths.first(2))
      assert_equal %w[c.flight carried carried.lock], Dir.children(folder).sort
      assert_equal 3 * REQUESTS, requests(folder)
      assert_equal 0o600, File.stat(File.join(folder, "carried")).mode & 0o777
      assert_equal 3, starts(folder)
      Carried.retire(folder, paths.drop(2))
      assert_equal [3 * REQUESTS, 3], [requests(folder), starts(folder)]
    end
  end

  # Killed between writing and removing: the file is still there and counts once; the next removal takes it along.
  def test_an_interrupted_removal_counts_nothing_twice
    in_folder(%w[a b]) do |folder, paths|
      Carried.read(folder).with(folder, [paths.first]).write(folder)
      assert_equal 2 * REQUESTS, requests(folder)
      Carried.retire(folder, [paths.last])
      assert_equal 2 * REQUESTS, requests(folder)
      assert_equal ["a.flight"], Dir.children(folder).grep(/flight/)
      Carried.retire(folder, [paths.first])
      assert_equal [2 * REQUESTS, []], [requests(folder), Dir.children(folder).grep(/flight/)]
    end
  end

  def test_what_a_starting_process_cleans_up_goes_on_counting
    in_folder(%w[4194305-1-00000001 4194305-2-00000002]) do |folder, paths|
      FileUtils.touch(File.join(folder, "4194305-1-00000001.events"))
      here = Powerband::Liveness.here
      paths.each { |path| File.binwrite(path, [here.namespace].pack("Q<") + here.boot, 480) }
      own = File.join(folder, "#{Process.pid}-1-00000003.flight")
      retention = Powerband::Retention.new(own, keep_s: 0, keep_bytes: 0)
      retention.define_singleton_method(:now) { 0 } # however busy the machine is, there is time for all
      retention.sweep

      assert_equal %w[carried carried.lock], Dir.children(folder).sort
      assert_equal paths.size * REQUESTS, requests(folder)
    end
  end

  def test_two_removers_do_not_meet
    in_folder(%w[a]) do |folder, paths|
      File.open(File.join(folder, "carried.lock"), "w") do |lock|
        lock.flock(File::LOCK_EX)
        assert_empty Carried.retire(folder, paths)
      end
      assert_path_exists paths.first
    end
  end

  def test_scrapes_beside_removals_see_every_file_once
    in_folder(("a".."z").to_a) do |folder, paths|
      pid = fork { paths.each { |path| Carried.retire(folder, [path]) } }
      seen = []
      until Process.wait(pid, Process::WNOHANG)
        begin
          seen << requests(folder)
        rescue Errno::EBUSY
          next
        end
      end

      assert_equal [26 * REQUESTS], (seen << requests(folder)).uniq
    end
  end

  def test_what_was_not_measured_stays_so
    in_folder(%w[a]) do |folder, paths|
      Carried.retire(folder, paths)
      sums = Carried.read(folder).sums(nil)
      assert_nil sums.totals[Powerband::FlightFile::NAMED.index(:lock_wait_ns)]
      assert_nil sums.totals[Powerband::FlightFile::NAMED.index(:sql_ns)]
    end
  end

  def test_a_damaged_text_is_named_and_the_next_writer_begins_anew
    sound = "powerband-carried 1\ngeneration 3\n"
    lines = ["totals requests=-1", "totals requests", "request requests=1", "request wall=128:1 name=x", "request wall=1 name=x",
             "request requests=1 name=\xFF", "request wall_ns=2 wall=1:1 edged_ns=3 edged=1:1 name=x",
             "request wall_ns=2 wall=1:1 edged_ns=2 edged=2:1 name=x"]
    damages = ["", "x", sound.chomp, "powerband-carried 1\n", "#{sound}totals requests=1\n"] +
              lines.map { |line| "#{sound}application a\n#{line}\n" }
    in_folder(%w[a]) do |folder, paths|
      damages.each do |text|
        File.write(File.join(folder, "carried"), text)
        assert_raises(Carried::Damaged, text.inspect) { requests(folder) }
      end
      capture_io { Carried.retire(folder, paths) }
      assert_equal REQUESTS, requests(folder)
    end
  end

  def test_what_cannot_be_written_leaves_nothing_behind
    in_folder(%w[a]) do |folder, paths|
      Dir.mkdir(File.join(folder, "carried"))
      assert_raises(SystemCallError) { Carried.new(1, [], {}).write(folder) }
      assert_equal [File.basename(paths[0]), "carried"], Dir.children(folder).sort
    end
  end

  # The gem is rolled back, or two releases share a folder.
  NEWER = <<~TEXT
    powerband-carried 1
    generation 3
    application /srv/storefront
    process faults=2 later_ns=7
    totals requests=40 later=18446744073709551615
    request requests=14 later=5 spread=1:2,130:4 shape=a wall=20:14 name=x#y
    request requests=2 later=6 spread=2:1,130:1 shape=b wall=20:2 name=x#z
    job requests=3 name=HardWorker
    window of=60 requests=9 name=a b
    application /srv/other
    process
    totals requests=1 spread=
    newest
  TEXT

  def test_a_writer_keeps_what_it_does_not_know
    in_folder(%w[a]) do |folder, paths|
      File.write(File.join(folder, "carried"), NEWER)
      Carried.retire(folder, paths)
      text = File.read(File.join(folder, "carried"))

      assert_match(/^process faults=\d+ .*later_ns=7$/, text)
      assert_match(/^totals requests=#{40 + REQUESTS} .*later=18446744073709551615$/, text)
      assert_match(/^request requests=14 later=5 spread=1:2,130:4 shape=a wall=20:14 name=x#y$/, text)
      assert_includes text, "\nwindow of=60 requests=9 name=a b\n"
      assert text.end_with?("application /srv/other\nprocess\ntotals requests=1 spread=\nnewest\n"), text
    end
  end

  # What falls out of the names becomes one row, the unknown too.
  def test_rows_that_become_one_add_up_what_is_not_known
    carried = Powerband::Metrics::CarriedText.parse(NEWER)
    sums = carried.applications.fetch("/srv/storefront").tap { |all| all.fold(0) }
    other = sums.endpoint(:request, "(other)")

    assert_equal 16, other[0]
    assert_equal({ "later" => "11", "spread" => "1:2,2:1,130:5", "shape" => "a" }, other.unknown)
  end

  # Times of processes that count 75 and 250 ms are carried apart from those of others, so that an older agent, which knows
  # neither pair and adds both up, leaves each as it was.
  def test_times_of_those_that_count_the_edges_stay_apart
    older = "request requests=3 wall_ns=40 wall=60:3 name=x"
    newer = "request requests=2 wall_ns=30 wall_up_to_75ms=1 wall_up_to_250ms=2 wall=60:1,62:1 " \
            "edged_ns=30 edged=60:1,62:1 name=x"
    both = "request requests=5 wall_ns=70 wall_up_to_75ms=1 wall_up_to_250ms=2 wall=60:4,62:1 " \
           "edged_ns=30 edged=60:1,62:1 name=x"
    [[older, newer], [newer, older], [both]].each do |lines|
      text = "powerband-carried 1\ngeneration 3\napplication a\n#{lines.join("\n")}\n"
      carried = Powerband::Metrics::CarriedText.parse(text)
      assert_includes Powerband::Metrics::CarriedText.format(carried), "\n#{both}\n"
      edged = carried.sums(nil).endpoint(:request, "x").measuring(Powerband::Metrics::Edged::PLACE)
      places = %i[wall_ns wall_up_to_75ms wall_up_to_250ms].map { |name| Powerband::FlightFile::NAMED.index(name) }
      assert_equal [30, 1, 2], edged.values_at(*places)
      assert_equal [1, 0, 1], edged[Powerband::FlightFile::WALL][60..62]
    end
  end

  def test_names_of_any_kind_come_back
    names = ["a b", "a\\nb", "a\nb", "name=x", "é", " "]
    sums = Powerband::Metrics::Sums.new
    row = Array.new(Powerband::FlightFile::ROW) { |i| i }
    names.each { |name| sums.endpoint(:request, name).add(row, [true] * row.size) }
    text = Powerband::Metrics::CarriedText.format(Carried.new(1, ["x y"], { "/a\nb" => sums }))
    again = Powerband::Metrics::CarriedText.parse(text)

    assert_equal [["x y"], ["/a\nb"]], [again.files, again.applications.keys]
    assert_equal names.to_h { |name| [name, row] }, again.sums(nil).endpoints[:request].transform_values(&:to_a)
  end

  def test_names_are_bounded
    sums = Powerband::Metrics::Sums.new
    names = ("aa".."az").to_a
    size = Powerband::FlightFile::ROW
    names.each_with_index { |name, n| sums.endpoint(:request, name).add([n + 1] * size, [true] * size) }
    sums.fold(3)

    assert_equal ["(other)", "ax", "ay", "az"], sums.endpoints[:request].keys.sort
    assert_equal (1..23).sum, sums.endpoint(:request, "(other)")[0]
  end
end
