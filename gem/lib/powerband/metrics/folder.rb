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
      def read(application, live: Living)
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
        Reading.new(sums, Gauges.of(live.among(files), unreadable, Unrecorded.by_reason(@path)))
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
    end

    # Which files' processes are at work.
    module Living
      class << self
        # Puma's USR2 leaves the pid and its start as they were: then the younger file is the process's.
        def among(files)
          here = Liveness.here
          running = files.select { |file| file.open? && running?(file, here) }
          running.group_by { |file| [file.pid, file.start_ticks, file.origin] }
                 .map { |_, same| same.max_by(&:created_mono_ns) }
        end

        # The resident memory of a file's process in bytes; nil where it cannot be seen.
        def resident(file)
          return if file.origin.boot_known? && file.origin != Liveness.here
          return unless Liveness.start_of(file.pid) == file.start_ticks

          kilobytes = File.read("/proc/#{file.pid}/status")[/^VmRSS:\s+(\d+) kB/, 1]
          Integer(kilobytes, 10) * 1024 if kilobytes
        rescue SystemCallError
          nil
        end

        private

        # An agent that did not record where its process ran is taken to have been here.
        def running?(file, here)
          return Liveness.by_lock(file.path, file.origin, here) == :runs if file.flags.anybits?(Liveness::LOCKED)

          return Liveness.start_of(file.pid) == file.start_ticks unless file.origin.boot_known?

          Liveness.by_number(file.pid, file.start_ticks, file.origin, here) == :runs
        rescue Errno::ENOENT
          false # removed meanwhile
        end
      end
    end
  end
end
