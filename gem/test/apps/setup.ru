# frozen_string_literal: true

require "json"

SetupSpy::SEEN["order"] << "application"

if ENV["WITH_MIDDLEWARE"]
  require "powerband"
  use Powerband::Middleware
end

# Answers what the process that serves is set up with; /gc collects first, /wait says that it is there and waits to be let
# go (files in WAITING).
run(lambda do |env|
  case env["PATH_INFO"]
  when "/gc" then GC.start
  when "/wait"
    File.write(File.join(ENV.fetch("WAITING"), "there"), "")
    sleep 0.01 until File.exist?(File.join(ENV.fetch("WAITING"), "go"))
  end
  found = {
    pid: Process.pid, parent: Process.ppid, profiler: GC::Profiler.enabled?, records: GC::Profiler.raw_data.to_a.size,
    auto_compact: GC.auto_compact, majors: GC.stat(:major_gc_count),
    features: $LOADED_FEATURES.grep(%r{powerband/setup}).size, **SetupSpy::SEEN
  }
  [200, { "content-type" => "application/json" }, [JSON.generate(found)]]
end)
