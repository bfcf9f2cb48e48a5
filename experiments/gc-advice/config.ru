# frozen_string_literal: true

# What a Rails application does to the collector, without the rest of it: a large heap that stays, an object graph that is made
# when it is first asked for, strings that live for one request, and a cache whose entries become old before they are replaced.
require "json"

# What stays from the boot and is written to by each request, such as counters by page: every minor collection looks at all of it.
INDEX = Array.new(400_000) { |number| "entry #{number}" }
MOST_LAZY = 250_000
CACHED_BYTES = 200_000
CACHE = Array.new(3_500) { "y" * CACHED_BYTES }
LOCK = Mutex.new

# The rows of a result, and the text that is made of them.
page = lambda do |number|
  rows = Array.new(400) { |row| { "id" => row, "name" => "product #{number} #{row}", "text" => "x" * 4_000 } }
  JSON.generate(rows)
end

# What is loaded lazily, by the first requests.
lazy = []

run(lambda do |_env|
  number = rand(2_000)
  body = page.call(number)
  LOCK.synchronize do
    lazy.concat(Array.new(2_000) { |item| [number, item] }) if lazy.size < MOST_LAZY
    INDEX[number] = "page #{number}"
    CACHE[number] = "z" * CACHED_BYTES if number.even?
  end
  [200, { "content-type" => "application/json" }, [body[0, 2_000]]]
end)
