# frozen_string_literal: true

module Powerband
  # The kinds of calls that a request waits in, as the extension numbers them.
  CALLS = { sql: 0, http: 1, cache: 2, redis: 3, pool: 4 }.freeze

  # Frameworks that leave a name of the endpoint in the environment, as the extension numbers them.
  NAMES = { rails: 0, sinatra: 1 }.freeze

  # What the C extension does; without it (an older Ruby, another engine, nothing compiled) nothing happens.
  module Native
    # The same methods as the extension's, which override these.
    module NoOp
      def available?
        false
      end

      def open(_options)
        false
      end

      # Why POWERBAND_BURSTS has no effect, or nil.
      def bursts_refused; end

      def close; end
      def forget; end
      def path; end
      def fault; end

      def start(_env)
        false
      end

      def finish(_started, _env, _response, _raised); end

      # Around the server's own handling of a request: parsing before the application, writing after it. Between the
      # two, the record of a request that was finished waits for the end of writing.
      def server_start; end
      def server_finish; end

      # Around a call of one of CALLS. A call is finished with the value that its beginning returned.
      def call_start(_kind)
        false
      end

      def call_finish(_started, _kind); end

      # The same for what only served calls, such as connecting: its time is seen, and it is no call of its own.
      def call_prepared(_started, _kind); end

      # From now on calls of this kind are seen.
      def measures(_kind); end

      # From now on these names of endpoints are looked for.
      def names(_whose); end

      # A job instead of a request; its latency in nanoseconds, or nil. Answers as `start` does: nil where there is no
      # file yet.
      def job_start(_queue_ns)
        false
      end

      def job_finish(_started, _name, _raised); end

      # Whether a second has passed since the last samples of the connection pools.
      def pool_due?
        false
      end

      # The pool, then its size, connections, busy, dead, idle and waiting.
      def pool_sample(_pool, *_counts); end

      # What the endpoint of a request is called, by its environment and its response.
      def endpoint(_env, _response); end

      # Where an object is, as dumps of the heap name it; nil for what is no object, such as a small number.
      def address(_object); end

      # The state of Ruby's heap.
      def heap_sample; end
    end

    extend NoOp
  end
end
