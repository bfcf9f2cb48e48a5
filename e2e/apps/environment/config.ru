# frozen_string_literal: true

# Waits 20 ms, and adds a line at each start to the file that RECORD names: what it was really started with, as Ruby and
# the kernel see it from the inside.
require "json"
require_relative "../work"

if ENV.key?("RECORD")
  allocators = File.read("/proc/self/maps").scan(/lib(jemalloc|tcmalloc|mimalloc)/).flatten.uniq
  seen = { "token" => ENV.fetch("API_TOKEN", nil), "allocators" => allocators,
           "malloc_limit" => GC.stat(:malloc_increase_bytes_limit) }
  File.write(ENV.fetch("RECORD"), "#{JSON.generate(seen)}\n", mode: "a")
end

run(lambda do |_env|
  Work.wait(20)
  Work.answer
end)
