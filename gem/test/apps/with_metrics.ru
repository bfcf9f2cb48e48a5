# frozen_string_literal: true

# An application whose metrics are served by a Puma::Server of their own, as plugins for Prometheus do it.
options = { min_threads: 0, max_threads: 7, queue_requests: false }
# Up to version 5 it writes its log through its events.
silent = defined?(Puma::LogWriter) ? [nil, options.merge(log_writer: Puma::LogWriter.null)] : [Puma::Events.null, options]
metrics = Puma::Server.new(->(_) { [200, { "content-type" => "text/plain" }, ["metrics"]] }, *silent)
metrics.add_tcp_listener("127.0.0.1", 0)
metrics.run
port = metrics.binder.ios.first.addr[1].to_s

run ->(_) { [200, { "content-type" => "text/plain" }, [port]] }
