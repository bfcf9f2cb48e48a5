# frozen_string_literal: true

# One worker that is left alone: its memory, its open files and its mappings while it serves.
class WorkerOverTime
  MOST_GROWTH = 1.05 # from the second third of the samples to the last; in the first it is still young

  Sample = Struct.new(:rss_kib, :files, :mappings, :flight_mappings)

  def initialize(flight)
    @pid = flight[:pid]
    @samples = []
    @pss = [pss_kib]
  end

  def sample
    @samples << Sample.new(rss_kib, open_files, mappings.size, mappings.count { |line| line.include?(".flight") })
    @pss[1] = pss_kib if (@samples.size % 20).zero?
  end

  # [what, figure, whether it holds]
  def lines
    early, late = rss_medians
    low, high = values(:mappings).minmax
    [["a worker left alone: RSS, median of the second and of the last third", "#{early} KiB, #{late} KiB",
      late <= early * MOST_GROWTH],
     ["its PSS, first and last (its siblings come and go)", "#{@pss.first} KiB, #{@pss.last} KiB", true],
     ["its open files but sockets, fewest and most", minmax(:files), same?(:files)],
     ["its mapped flight files, fewest and most", minmax(:flight_mappings), same?(:flight_mappings)],
     ["its mappings, fewest and most", "#{low}, #{high}", high <= low * MOST_GROWTH]]
  end

  private

  def values(name)
    @samples.map(&name)
  end

  def minmax(name)
    values(name).minmax.join(", ")
  end

  def same?(name)
    values(name).uniq.size == 1
  end

  def rss_medians
    third = [@samples.size / 3, 1].max
    [@samples[third, third], @samples.last(third)].map { |part| part.map(&:rss_kib).sort[part.size / 2] }
  end

  def rss_kib
    File.read("/proc/#{@pid}/statm").split[1].to_i * 4
  end

  def pss_kib
    File.read("/proc/#{@pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1].to_i
  end

  def open_files
    Dir.children("/proc/#{@pid}/fd").count do |fd|
      !File.readlink("/proc/#{@pid}/fd/#{fd}").start_with?("socket:")
    rescue Errno::ENOENT
      false
    end
  end

  def mappings
    File.readlines("/proc/#{@pid}/maps")
  end
end
