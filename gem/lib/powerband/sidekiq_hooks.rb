# frozen_string_literal: true

module Powerband
  # Sidekiq, from version 7 on: each job is recorded as a request is, with the latency of its queue as its queue time.
  module SidekiqHooks
    # Prepended to Sidekiq::CLI, whose `run` loads the application.
    module Cli
      def run(...)
        SidekiqHooks.install
        super
      end
    end

    # The outermost of Sidekiq's server middleware.
    class Middleware
      # As in the middleware for requests, an exception of another thread's may come between any two lines.
      def call(_instance, job, _queue)
        Calls.each_second if Native.pool_due?
        started = false
        raised = true
        begin
          started = SidekiqHooks.began(job)
          result = yield
          raised = false
          result
        rescue ::Sidekiq::JobRetry::Skip # of a job that has put itself back into its queue
          raised = false
          raise
        ensure
          SidekiqHooks.ended(started, job, raised)
        end
      end
    end

    # Seconds until version 7, milliseconds from 8 on: no clock will show a hundred thousand million seconds.
    MILLISECONDS = 100_000_000_000

    @installed = false

    class << self
      # Sidekiq announces the start of a process after its forks, by any parent, and before its first job.
      def install
        return if @installed || !Powerband.config.enabled? || !Native.available?

        @installed = true
        ::Sidekiq.configure_server do |config|
          config.server_middleware { |chain| chain.prepend(Middleware) }
          config.on(:startup) { SidekiqHooks.starting(config) }
        end
      rescue StandardError => e
        Powerband.fault("Sidekiq's jobs are not measured", e)
      end

      def starting(config)
        threads = config.total_concurrency
        Recorder.start(server_name: "sidekiq #{::Sidekiq::VERSION}", min_threads: threads, max_threads: threads)
      rescue StandardError => e
        Powerband.fault("Sidekiq's settings cannot be read", e)
      end

      def began(job)
        Native.job_start(latency_ns(job["enqueued_at"]))
      rescue *MISTAKES => e
        Powerband.fault("a job is not measured", e)
        false
      end

      def ended(started, job, raised)
        Native.job_finish(started, job["wrapped"] || job["class"], raised)
      rescue *MISTAKES => e
        Powerband.fault("a job is not measured", e)
      end

      # Nothing where there is no time, or one that is yet to come.
      def latency_ns(enqueued_at)
        return unless enqueued_at.is_a?(Numeric) && enqueued_at.positive?

        enqueued_at /= 1000.0 if enqueued_at > MILLISECONDS
        latency = Process.clock_gettime(Process::CLOCK_REALTIME) - enqueued_at
        (latency * 1_000_000_000).to_i unless latency.negative?
      end
    end
  end
end
