# frozen_string_literal: true

module Powerband
  class Metrics
    # What removed flight files had counted, so that no sum goes down when one is removed: the file `carried` next
    # to them (contract/metrics-v1.md). All code that removes flight files does it here.
    class Carried
      # The text is not what the contract says.
      class Damaged < StandardError; end

      NAME = "carried"
      LOCK = "carried.lock"
      FIRST = "powerband-carried 1"
      MOST_BYTES = 1 << 26
      MOST_NAMES = 1000
      AT_ONCE = 8

      class << self
        # What is carried in this folder.
        def read(folder)
          CarriedText.parse(opened(folder) { |file| String.new(file.read(MOST_BYTES).to_s, encoding: Encoding::UTF_8) })
        rescue Errno::ENOENT
          new(0, [], {})
        end

        # Whether what was read still holds.
        def generation(folder)
          opened(folder) { |file| file.gets && CarriedText.generation(file.gets.to_s) }
        rescue Errno::ENOENT
          0
        end

        # Removes flight files of dead processes, all in one folder, and keeps what they counted, for as long as the block
        # says yes. Returns those that are gone: none when another process is removing some at this moment.
        def retire(folder, paths)
          File.open(File.join(folder, LOCK), File::RDWR | File::CREAT | File::NOFOLLOW, 0o600) do |lock|
            return [] unless lock.flock(File::LOCK_EX | File::LOCK_NB)

            paths.each_slice(AT_ONCE).take_while { |some| (!block_given? || yield) && replace(folder, some) }.flatten
          end
        end

        private

        def opened(folder, &block)
          File.open(File.join(folder, NAME), File::RDONLY | File::NOFOLLOW | File::NONBLOCK, &block)
        end

        def replace(folder, paths)
          keep(folder, paths)
          paths.each do |path|
            File.unlink(path)
          rescue Errno::ENOENT
            nil
          end
        end

        # A full disk must not keep what fills it.
        def keep(folder, paths)
          latest(folder).with(folder, paths).write(folder)
        rescue Errno::ENOSPC, Errno::EDQUOT => e
          Powerband.fault("metrics lose what removed files had counted", e)
        end

        # What is damaged is lost, and the removing of files goes on.
        def latest(folder)
          read(folder)
        rescue Damaged => e
          Powerband.fault("metrics begin anew", e)
          new(0, [], {})
        end
      end

      attr_reader :generation, :files, :applications

      # `files` are those whose counts are in here although they may still be there: removing comes after writing.
      def initialize(generation, files, applications)
        @generation = generation
        @files = files
        @applications = applications
      end

      def holds?(name)
        @files.include?(name)
      end

      # Of one application, or of all.
      def sums(application)
        chosen = application ? @applications.slice(application) : @applications
        chosen.each_value.with_object(Sums.new) { |sums, all| all.merge(sums) }
      end

      # These files in addition.
      def with(folder, paths)
        fresh = paths.reject { |path| holds?(File.basename(path)) }
        fresh.each { |path| absorb(path) }
        @applications.each_value { |sums| sums.fold(MOST_NAMES) }
        still_there = @files.select { |name| File.exist?(File.join(folder, name)) }
        self.class.new(@generation + 1, still_there | fresh.map { |path| File.basename(path) }, @applications)
      end

      def write(folder)
        path = File.join(folder, NAME)
        beside = "#{path}.#{::Process.pid}"
        File.open(beside, File::WRONLY | File::CREAT | File::TRUNC | File::NOFOLLOW, 0o600) do |file|
          file.write(CarriedText.format(self))
        end
        File.rename(beside, path)
      rescue SystemCallError
        File.unlink(beside) if File.exist?(beside)
        raise
      end

      private

      def absorb(path)
        file = FlightFile.read(path)
        (@applications[file.application] ||= Sums.new).add(file)
      rescue FlightLayout::Unusable, FlightLayout::BeingMade, Errno::ENOENT, Errno::EACCES
        nil
      end
    end
  end
end
