# frozen_string_literal: true

module Powerband
  # The flight file of this process, made as the server starts, or at the first request where no server notified us.
  module Recorder
    # How often a file gets a new time of change, at a request: cleaners of temporary folders go by days.
    TOUCH_EVERY_S = 3600

    @touch_due_s = 0
    @at_exit = false
    @given_up_in = nil

    class << self
      # Makes this process's file; true when it records. Never raises: the application must start without us too.
      def start(server = {})
        return false unless Powerband.config.enabled? && Native.available?
        return false if @given_up_in == Process.pid
        return true if Native.path

        Native.open(settings.merge(server))
        opened
        Calls.install
        true
      rescue StandardError => e
        give_up(e)
      end

      # For servers that we have no hook in: only the name is known. An exception that another thread sends is the
      # application's and waits until we are done.
      def start_late
        return false if @given_up_in == Process.pid || testing?

        Thread.handle_interrupt(Exception => :never) { start(server_name: guess_server) }
      end

      # Writing through a mapping does not change a file's time on a tmpfs.
      def keep_young
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        return if now < @touch_due_s

        @touch_due_s = now + TOUCH_EVERY_S
        touch(Native.path)
      end

      def app_root
        root = ::Rails.root if defined?(::Rails) && ::Rails.respond_to?(:root)
        (root || Dir.pwd).to_s
      end

      # Requests that no server makes are a test suite's.
      def testing?
        ENV["RACK_ENV"] == "test" || ENV["RAILS_ENV"] == "test"
      end

      private

      def settings
        {
          root: Powerband.config.root, default_root: Powerband.config.default_root?,
          ring_capacity: Powerband.config.ring_capacity, queue_limit_ns: Powerband.config.queue_limit_s * 1_000_000_000,
          bursts: Powerband.config.bursts, ruby_version: RUBY_VERSION,
          agent_version: VERSION, framework: framework, app_root: app_root,
          arm: Powerband.config.arm, allocator: Runtime.allocator, jit: Runtime.jit,
          variables: Runtime::VARIABLES
        }
      end

      def framework
        defined?(::Rails::VERSION::STRING) ? "rails #{::Rails::VERSION::STRING}" : ""
      end

      def guess_server
        return "passenger" if defined?(::PhusionPassenger)
        return "unicorn" if defined?(::Unicorn::HttpServer)
        return "pitchfork" if defined?(::Pitchfork::HttpServer)
        return "falcon" if defined?(::Falcon::Server)

        ""
      end

      # The extension has left a marker where it could, which is removed at the end.
      def give_up(error)
        @given_up_in = Process.pid
        Powerband.fault("nothing is recorded in process #{Process.pid}", error)
        close_at_exit
        folder = Powerband.config.user_folder.checked
        Unrecorded.sweep(folder) if folder
        false
      rescue StandardError
        false
      end

      # What is recorded is recorded, whatever happens here.
      def opened
        close_at_exit
        refused = Native.bursts_refused
        Powerband.say("no bursts are recorded in process #{Process.pid}: #{refused}") if refused
        clean_up
      rescue StandardError => e
        Powerband.fault("the flight file is kept, but its folder is not cleaned up", e)
      end

      def clean_up
        Unrecorded.sweep(File.dirname(Native.path))
        Retention.new(Native.path, keep_s: Powerband.config.keep_s, keep_bytes: Powerband.config.keep_bytes).sweep
      end

      # Inherited by forked children, where Native.close does what is right for their own file.
      def close_at_exit
        return if @at_exit

        @at_exit = true
        at_exit { close }
      end

      # The file's modification time shows when it ended, for as long as it is kept.
      def close
        Native.close
        touch(Native.path)
      end

      # Also the files next to it. A file that is gone, or another user's by now, is left alone.
      def touch(flight)
        return unless flight

        [flight, flight.sub(/flight\z/, "bursts")].each do |path|
          File.utime(nil, nil, path)
        rescue SystemCallError
          nil
        end
      end
    end
  end
end
