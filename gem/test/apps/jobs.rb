# frozen_string_literal: true

# An application of Sidekiq's: `sidekiq -r ./jobs.rb`, or by itself, with Sidekiq embedded (EMBEDDED).

require "sidekiq"
require "powerband" if ENV["WITH_GEM"]

# Asks Redis once, then acts on its arguments.
class HardWorker
  include Sidekiq::Job
  sidekiq_options retry: false

  def perform(told)
    Sidekiq.redis { |connection| connection.call("PING") }
    sleep 0.05 if told == "sleep"
    raise "on purpose" if told == "raise"
    raise Sidekiq::JobRetry::Skip if told == "skip"
  end
end

# What ActiveJob's jobs are wrapped in.
class Wrapper < HardWorker; end

if ENV["EMBEDDED"]
  require "powerband/sidekiq"
  embedded = Sidekiq.configure_embed { |config| config.concurrency = 2 }
  embedded.run
  stop = Queue.new
  trap("TERM") { stop << true }
  stop.pop
  embedded.stop
end
