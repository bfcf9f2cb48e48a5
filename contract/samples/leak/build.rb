# frozen_string_literal: true

# Builds `shop.dump` and `shop.jsonl`: a small heap in the format of ObjectSpace.dump_all, and the log of its rounds. What is in
# them is listed in README.md; the tests of crates/heap know it.
require "json"

ROUNDS = 6
REQUESTS = 10 # of each round
ADDRESSES = { object: 0x1000, shop: 0x1100, hash: 0x1200, array: 0x1300, string: 0x1400, seen: 0x2000, recent: 0x2100,
              views: 0x2200, ids: 0x2300, method: 0x2400 }.freeze

def hex(address) = format("0x%x", address)

def at(name) = hex(ADDRESSES.fetch(name))

lines = []
log = []
next_address = 0x10_0000
seen = []
recent = []
views = []
# An object that a request made.
made = lambda do |type, class_name, line, generation, references = []|
  address = next_address += 0x28
  lines << { address: hex(address), type: type, class: at(class_name), references: references.map { |held| hex(held) },
             file: "/srv/shop/app/models/shop.rb", line: line, method: "note", generation: generation, memsize: 40 }
  address
end

collections = 100
ROUNDS.times do |round|
  log << ["boundary", collections]
  log << ["size", round, "Array", ADDRESSES[:ids], 100 + (round * 10)]
  REQUESTS.times do |request|
    shows = request.even?
    if shows
      text = made.call("STRING", :string, 8, collections)
      seen << made.call("HASH", :hash, 7, collections, [text])
    end
    # Of this cache only the latest twenty entries are left, of the other one only the first three rounds made any.
    recent << made.call("STRING", :string, 20, collections) if round >= 4
    views << made.call("STRING", :string, 30, collections) if round < 3
    collections += 1
    log << ["request", collections, shows ? "shop#show" : "shop#index"]
  end
  collections += 3
end
log << ["boundary", collections]
log << ["size", ROUNDS, "Array", ADDRESSES[:ids], 160]

named = lambda do |name, text, held|
  { address: at(name), type: "CLASS", class: at(:object), name: text, references: held, memsize: 500 }
end
container = lambda do |name, type, count, held|
  { address: at(name), type: type, class: at(type.downcase.to_sym), (type == "HASH" ? :size : :length) => count,
    references: held.map { |address| hex(address) }, memsize: 40 + (count * 8) }
end
heap = [
  { address: "0x10", type: "SHAPE", id: 0, depth: 1, shape_type: "ROOT", edges: 2, memsize: 128 },
  { type: "ROOT", root: "vm", references: [at(:object), at(:method)] },
  { type: "ROOT", root: "machine_context", references: [at(:seen), hex(seen.first)] },
  named.call(:object, "Object", [at(:shop), at(:hash), at(:array), at(:string)]),
  named.call(:shop, "Shop", [at(:seen), at(:recent), at(:views), at(:ids), "0xdead"]),
  *%i[hash array string].map { |name| named.call(name, name.to_s.capitalize, []) },
  { address: at(:method), type: "IMEMO", imemo_type: "ment", references: [at(:seen)], memsize: 48 },
  container.call(:seen, "ARRAY", seen.length, seen), container.call(:recent, "ARRAY", recent.length, recent),
  container.call(:views, "HASH", views.length, views), container.call(:ids, "ARRAY", 160, []), *lines
]
File.write(File.join(__dir__, "shop.dump"), heap.map { |line| "#{JSON.generate(line)}\n" }.join)
File.write(File.join(__dir__, "shop.jsonl"), log.map { |line| "#{JSON.generate(line)}\n" }.join)
