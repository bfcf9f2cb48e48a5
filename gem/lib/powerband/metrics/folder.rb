# frozen_string_literal: true

module Powerband
  class Metrics
    # The flight files of this user, added up: those of one application, or all.
    class Folder
      # Sums, and what is true at this moment of the processes that live.
      Reading = Struct.new(:sums, :gauges)

      def initialize(path)
        @path = path
      end

      # Reads every file once. When files were removed meanwhile it begins anew: nothing may be in the sums twice, or not
      # at all.
      #
      # Raises SystemCallError where the system fails: a scrape that fails costs nothing, a sum that misses a process
      # is taken for a restart of all.
      def read(application, live: Liveness)
        3.times do
          carried = Carried.read(@path)
          reading = add_up(application, carried, live)
          return reading if Carried.generation(@path) == carried.generation
        end
        raise Errno::EBUSY, "flight files are being removed from #{@path}"
      end

      def self.paths(path)
        Dir.children(path).grep(/\.flight\z/).sort.map { |name| File.join(path, name) }
      rescue Errno::ENOENT
        []
      end

      private

      def add_up(application, carried, live)
        sums = carried.sums(application)
        files = []
        unreadable = each_file(carried) do |file|
          next if application && file.application != application

          sums.add(file)
          files << file.forget_rows
        end
        Reading.new(sums, gauges(live.among(files)).merge(unreadable: unreadable))
      end

      # Yields what can be read, and returns how many cannot.
      def each_file(carried)
        buffer = +""
        self.class.paths(@path).count do |path|
          yield FlightFile.read(path, buffer) unless carried.holds?(File.basename(path))
          Pace.give_way
          false
        rescue FlightLayout::BeingMade, Errno::ENOENT
          false
        rescue FlightLayout::Unusable, Errno::EACCES
          true
        end
      end

      def gauges(files)
        pools = files.flat_map { |file| file.pools.to_a }.group_by(&:first)
        { processes: files.size, in_flight: files.sum(&:in_flight),
          pools: pools.transform_values { |samples| samples.map(&:last).transpose.map(&:sum) } }
      end
    end

    # Which files' processes are at work.
    module Liveness
      class << self
        # Puma's USR2 leaves the pid and its start as they were: then the younger file is the process's.
        def among(files)
          candidates = files.select(&:open?).group_by { |file| [file.pid, file.start_ticks] }
          candidates.filter_map { |(pid, ticks), same| same.max_by(&:created_mono_ns) if started(pid) == ticks }
        end

        private

        # Field 22 of /proc/<pid>/stat. The command, field 2, may hold spaces and brackets.
        def started(pid)
          File.read("/proc/#{pid}/stat").rpartition(")").last.split[19].to_i
        rescue Errno::ENOENT, Errno::ESRCH
          nil
        end
      end
    end
  end
end
