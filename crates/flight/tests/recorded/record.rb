# frozen_string_literal: true

# Records real requests with POWERBAND_BURSTS=1's file and writes what the flight file says of each:
#   ruby crates/flight/tests/recorded/record.rb     (after ruby gem/ext/powerband/build.rb)

require "json"
require "tmpdir"

ROOT = File.expand_path("../../../..", __dir__)
$LOAD_PATH.unshift(File.join(ROOT, "gem/lib"), File.join(ROOT, "gem/test"))
require "powerband"
require "support/flight_reader"

LOCK = Mutex.new
WORK = [
  -> { 20_000.times.sum },
  -> { sleep 0.002 },
  -> { LOCK.synchronize { sleep 0.001 } },
  -> { GC.start },
  -> { Array.new(500, &:to_s) && sleep(0.0005) && 40_000.times.sum }
].freeze
FIELDS = %i[start_mono_ns wall_ns held_ns gvl_wait_ns lock_wait_ns io_ns gc_own_us gc_count endpoint status busy_threads
            flags].freeze

Dir.mktmpdir do |root|
  Powerband::Native.open(root: root, ring_capacity: 64, bursts: 1, ruby_version: RUBY_VERSION, server_name: "", framework: "",
                         agent_version: "", app_root: "/", workers: 0, min_threads: 4, max_threads: 4, preload: 0,
                         worker_index: -1)
  Array.new(4) do |thread|
    Thread.new do
      15.times do |n|
        application = lambda do |_env|
          WORK[(n + thread) % WORK.size].call
          [200 + n, {}, []]
        end
        Powerband::Middleware.new(application).call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/#{n % 3}x")
      end
    end
  end.each(&:join)
  path = Powerband::Native.path
  records = FlightReader.new(File.binread(path)).records.map { |record| record.slice(*FIELDS) }
  bursts = File.binread(path.sub(/flight\z/, "bursts"))
  # Behind the last event there are only empty slots.
  whole = bursts.unpack1("Q<", offset: 48) + (bursts.unpack1("Q<", offset: 192) * 32)
  File.binwrite(File.join(__dir__, "requests.bursts"), bursts.byteslice(0, whole))
  lines = records.map { |record| JSON.generate(record) }
  File.write(File.join(__dir__, "requests.json"), "[\n#{lines.join(",\n")}\n]\n")
end
