# frozen_string_literal: true

require_relative "leak_names"
require_relative "leak_sizes"

module Powerband
  class Setup
    # An application in which `powerband leak` looks for a leak, in a server that has no other clients. Ruby notes where each
    # object is made and in which collection's time; one collection after each request therefore says which request made it,
    # or the server for it before its call (contract/setup-v1.md). Requests with the token of the program that started the
    # server are its questions.
    class Leak
      HEADER = "HTTP_X_POWERBAND_LEAK"
      # Finalizers of one collection let go of what the next one frees.
      COLLECTIONS = 3

      def initialize(app, token)
        @app = app
        @token = token
        # One request at a time, or an object could be of either.
        @turn = Mutex.new
        @boundaries = 0
      end

      def call(env)
        @turn.synchronize { env[HEADER] == @token ? answer(env) : serve(env) }
      end

      private

      def serve(env)
        return @app.call(env) unless @log

        begin
          response = @app.call(env)
        ensure
          GC.start(full_mark: false)
          note("request", GC.count, Native.endpoint(env, response).to_s)
        end
      end

      def answer(env)
        reply(200, asked(env["PATH_INFO"], env["QUERY_STRING"].to_s))
      rescue StandardError, LoadError => e
        reply(500, { error: "#{e.message} (#{e.class})" })
      end

      def reply(status, fields)
        body = Report.json(fields)
        [status, { "content-type" => "application/json", "content-length" => body.bytesize.to_s }, [body]]
      end

      def asked(path, query)
        case path
        when "/begin" then start
        when "/boundary" then boundary
        when "/end" then finish
        when "/names" then { names: LeakNames.of(query) }
        else raise ArgumentError, "no question: #{path}"
        end
      end

      def start
        require "objspace"
        folder = Powerband.config.user_folder.made
        @dump_path, log_path = %w[dump jsonl].map { |kind| File.join(folder, "leak-#{Process.pid}.#{kind}") }
        @log = File.open(log_path, Report::NEW, 0o600)
        # Compaction would give objects other addresses than those under which sizes are noted and names are asked for.
        GC.auto_compact = false if GC.respond_to?(:auto_compact=)
        ObjectSpace.trace_object_allocations_start
        boundary.merge(file: log_path)
      end

      # Between rounds of requests: what is alive now, outlived its requests.
      def boundary
        COLLECTIONS.times { GC.start }
        note("boundary", GC.count)
        LeakSizes.each { |kind, address, size| note("size", @boundaries, kind, address, size) }
        @log.flush
        @boundaries += 1
        { boundaries: @boundaries }
      end

      def finish
        boundary
        ObjectSpace.trace_object_allocations_stop
        File.open(@dump_path, Report::NEW, 0o600) { |file| ObjectSpace.dump_all(output: file) }
        ObjectSpace.trace_object_allocations_clear
        { file: @dump_path }
      end

      def note(*fields)
        @log.write(Report.json(fields), "\n")
      end
    end
  end
end
