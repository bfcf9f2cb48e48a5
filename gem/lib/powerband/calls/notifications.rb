# frozen_string_literal: true

module Powerband
  module Calls
    # Subscribers to ActiveSupport's notifications that get beginnings and ends: no event object is made for them.
    # An exception that one of them raised would reach the application.
    module Notifications
      # Queries as Rails counts them in its log: an answer of the query cache is announced and does not count; the
      # time of transactions and of questions about the schema counts, their number does not.
      class Sql
        KIND = CALLS.fetch(:sql)
        PREPARING = { "SCHEMA" => true, "TRANSACTION" => true }.freeze

        def start(_name, _id, payload)
          Native.call_start(KIND) unless payload[:cached]
        rescue *MISTAKES => e
          Calls.lost(e)
        end

        def finish(_name, _id, payload)
          return if payload[:cached]

          PREPARING.key?(payload[:name]) ? Native.call_prepared(true, KIND) : Native.call_finish(true, KIND)
        rescue *MISTAKES => e
          Calls.lost(e)
        end
      end

      # Calls of Rails' cache, whatever its store.
      class Cache
        KIND = CALLS.fetch(:cache)

        # Not `generate`, which is the application's own block, nor `fetch_hit`, which takes no time. The block of
        # `fetch_multi` is the application's too, but runs inside `read_multi`, and cannot be distinguished there.
        EVENTS = %w[read write delete exist? increment decrement read_multi write_multi delete_multi delete_matched
                    cleanup].map { |operation| "cache_#{operation}.active_support" }.freeze

        def start(_name, _id, _payload)
          Native.call_start(KIND)
        rescue *MISTAKES => e
          Calls.lost(e)
        end

        def finish(_name, _id, _payload)
          Native.call_finish(true, KIND)
        rescue *MISTAKES => e
          Calls.lost(e)
        end
      end

      class << self
        def sql
          ::ActiveSupport::Notifications.subscribe("sql.active_record", Sql.new)
        end

        def cache
          subscriber = Cache.new
          Cache::EVENTS.each { |event| ::ActiveSupport::Notifications.subscribe(event, subscriber) }
        end
      end
    end
  end
end
