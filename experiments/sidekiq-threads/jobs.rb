# frozen_string_literal: true

# Two kinds of jobs, as a shop has them: mails, which wait for a server, and reports, which compute.

require "sidekiq"

ADDRESS = "unix://#{ENV.fetch('REDIS_SOCKET')}".freeze
# Counts jobs when they end: Sidekiq's statistics are up to ten seconds old.
class Counted
  include Sidekiq::ServerMiddleware

  KEY = "ended"

  def call(*)
    yield
  ensure
    redis { |connection| connection.call("INCR", KEY) }
  end
end

Sidekiq.configure_client { |config| config.redis = { url: ADDRESS } }
Sidekiq.configure_server do |config|
  config.redis = { url: ADDRESS }
  config.logger.level = Logger::WARN
  config.server_middleware { |chain| chain.add(Counted) }
end

def cpu_ms = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond)

# Ruby that holds the GVL for about so many milliseconds of CPU time.
def compute(milliseconds)
  limit = cpu_ms + milliseconds
  Array.new(200) { |n| "row #{n}".sum } while cpu_ms < limit
end

# Waits for a mail server.
class Mail
  include Sidekiq::Job

  def perform(_id)
    compute 3
    sleep 0.06
  end
end

# Computes.
class Report
  include Sidekiq::Job

  def perform(_id)
    compute 25
    sleep 0.01
  end
end
