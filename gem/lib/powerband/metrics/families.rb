# frozen_string_literal: true

module Powerband
  class Metrics
    # The names of contract/metrics-v1.md, in its order.
    module Families
      # What is said of requests and of jobs, of all together and of each name.
      Group = Struct.new(:kind, :label, :subject, :by, :names) do
        def help(text)
          text = format(text, subject)
          "#{text[0].upcase}#{text[1..]}#{by}."
        end
      end

      # The name of each family of a group: what is counted, its failures, and the prefix of the others.
      def self.names(count, errors, prefix)
        times = { states: "", cpu: "_cpu", gc_stopped: "_gc_stopped" }.transform_values { |n| "#{prefix}#{n}_seconds_total" }
        { count: "#{count}_total", errors: "#{errors}_total", allocations: "#{prefix}_allocations_total",
          duration: "#{prefix}_duration_seconds", gvl_wait: "#{prefix}_gvl_wait_seconds",
          queue: "#{prefix}_queue_seconds" }.merge(times)
      end

      GROUPS = [
        Group.new(:request, nil, "requests", "", names("requests", "server_errors", "request")),
        Group.new(:request, "endpoint", "requests", ", by endpoint",
                  names("endpoint_requests", "endpoint_server_errors", "endpoint")),
        Group.new(:job, nil, "jobs", "", names("jobs", "job_errors", "job")),
        Group.new(:job, "job_class", "jobs", ", by class", names("job_class_jobs", "job_class_errors", "job_class"))
      ].freeze

      PLAIN = [
        [:count, "%s that ended", :requests],
        [:errors, "%s that failed (an exception, or a status of 500 to 599)", :server_errors],
        [:cpu, "Processor time of %s", :cpu_ns],
        [:gc_stopped, "Time in which the garbage collector stopped %s", :gc_ns],
        [:allocations, "Objects allocated by %s", :allocations]
      ].freeze
      STATES_HELP = "Time of %s by what their thread did"
      STATES = { "held" => :held_ns, "gvl_wait" => :gvl_wait_ns, "lock_wait" => :lock_wait_ns, "io" => :io_ns }.freeze
      # Bounds of histograms: 2 to these powers of a microsecond, 256 µs to 33.6 s, at which buckets of the file end.
      EXPONENTS = (8..25)
      HISTOGRAMS = [
        [:duration, "Time of %s, without what went before", FlightFile::WALL, :wall_ns],
        [:gvl_wait, "Time for which %s were ready to run and waited for the GVL", FlightFile::GVL_WAIT, :gvl_wait_ns],
        [:queue, "Time for which %s waited before they were begun, where it is known", FlightFile::QUEUE, :queue_ns]
      ].freeze

      RESPONSES_HELP = "Responses by class of status; what raised is a 5xx."
      RESPONSES = FlightLayout::STATUSES.to_h { |key| [key.to_s.delete_prefix("status_"), key] }.freeze

      CLIENTS = %w[sql http cache redis].freeze
      # Name, help, label, and the counter for each of its values.
      OVERALL = [
        ["call_seconds_total", "Time of calls as the application sees it, GVL wait included.", "client",
         CLIENTS.to_h { |client| [client, :"#{client}_ns"] }],
        ["call_gvl_wait_seconds_total", "GVL wait inside calls; without it, they took what they really took.", "client",
         CLIENTS.to_h { |client| [client, :"#{client}_gvl_ns"] }],
        ["calls_total", "Calls.", "client", CLIENTS.to_h { |client| [client, :"#{client}_count"] }],
        ["pool_wait_seconds_total", "Waiting for a database connection, GVL wait included.", nil, { nil => :pool_ns }],
        ["pool_gvl_wait_seconds_total", "GVL wait inside waiting for a database connection.", nil,
         { nil => :pool_gvl_ns }],
        ["pool_waits_total", "Checkouts of a database connection that had to wait.", nil, { nil => :pool_count }],
        ["server_seconds_total", "The server's own time with a request, before and after the application.", "part",
         { "parse" => :parse_ns, "write" => :write_ns }],
        ["server_thread_seconds_total", "Time of serving threads outside the application.", "state",
         { "held" => :server_held_ns, "gvl_wait" => :server_gvl_wait_ns }]
      ].freeze
      PROCESS = [
        ["gc_pause_seconds_total", "Pauses of the garbage collector, in which no Ruby thread of the process ran.",
         :gc_pause_ns],
        ["gc_cpu_seconds_total", "Processor time of the garbage collector.", :gc_cpu_ns],
        ["gc_runs_total", "Pauses of the garbage collector.", :gc_runs],
        ["clock_skew_total", "Requests whose queue time was negative or absurd.", :clock_skew],
        ["endpoints_lost_total", "Requests under (other) because their process had no room for more endpoints.",
         :endpoints_lost],
        ["agent_faults_total", "Errors inside the agent, which it kept to itself.", :faults],
        ["process_starts_total", "Processes that began to record.", :starts]
      ].freeze
      # States and their places in a sample.
      POOLS = [
        ["pool_size", "Connections that the pools of live processes may have.", { nil => 0 }],
        ["pool_connections", "Connections of the pools of live processes as last seen.",
         { "busy" => 1, "idle" => 2, "dead" => 3 }],
        ["pool_waiting", "Threads of live processes that waited for a connection as last seen.", { nil => 4 }]
      ].freeze
      LIVE = [
        ["processes", "Live processes that record.", :processes],
        ["processes_expected", "Processes that the servers of live processes are set to run.", :expected],
        ["requests_in_flight", "Requests and jobs being served in live processes.", :in_flight],
        ["threads", "Threads that serve in live processes at most.", :threads],
        ["resident_memory_bytes", "Resident memory of live processes (RSS); a page that they share counts in each.", :resident],
        ["unreadable_files", "Flight files that are damaged or none, and left out.", :unreadable]
      ].freeze
      UNRECORDED_HELP = "Live processes that cannot make their flight file, by the error."
    end
  end
end
