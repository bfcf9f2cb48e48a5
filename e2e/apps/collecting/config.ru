# frozen_string_literal: true

# Causes collections, and says in each answer what Ruby itself has counted of them: /start asks for a major one, /minor for a
# minor one, /retain keeps objects until Ruby decides on a major one, /hold keeps some, /allocate makes strings whose memory is
# outside of their slots; all else only says.
require "json"

kept = []

# No collection comes between the figures.
counted = lambda do
  GC.disable
  latest = GC.latest_gc_info
  kind = latest[:major_by] ? "major" : "minor"
  { **GC.stat.slice(:count, :minor_gc_count, :major_gc_count), kind:, major_by: latest[:major_by], cause: latest[:gc_by] }
ensure
  GC.enable
end

# Far more than the heap of a small application takes to double.
MOST = 3_000_000

retain = lambda do
  majors = GC.stat(:major_gc_count)
  kept << Array.new(10_000) { Object.new } while GC.stat(:major_gc_count) == majors && kept.size * 10_000 < MOST
end

run(lambda do |env|
  case env["PATH_INFO"]
  when "/start" then GC.start
  when "/minor" then GC.start(full_mark: false)
  when "/retain" then retain.call
  when "/allocate" then Array.new(1_000) { "x" * 2_000 }
  when "/hold" then kept << Array.new(300_000) { Object.new }
  end
  [200, { "content-type" => "application/json" }, [JSON.generate(counted.call)]]
end)
