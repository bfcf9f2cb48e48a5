# frozen_string_literal: true

# Makes the seeds of the target `events`, and those of `flight` from the golden flight files: the same sections moved together, with four slots
# of the ring, two endpoints and two pool samples, because a fuzzer changes small inputs more often where it matters.
#
#   ruby fuzz/compact.rb

require "fileutils"

SOURCE = File.expand_path("../contract/samples/flight", __dir__)
SEEDS = File.expand_path("seeds/flight", __dir__)
HEAD = 512

def number(bytes, offset, format)
  bytes.unpack1("@#{offset}#{format}")
end

def put(bytes, offset, value, format)
  packed = [value].pack(format)
  bytes[offset, packed.bytesize] = packed
end

# Offset and size of each section as the header has them, and what is kept of it.
def sections(bytes)
  at = ->(offset, format) { number(bytes, offset, format) }
  [[36, "L<", at[36, "L<"], at[32, "L<"] * 32],
   [56, "Q<", at[56, "Q<"], [at[64, "L<"], 384].min],
   [40, "Q<", at[40, "Q<"], at[48, "L<"] * 2],
   ([448, "Q<", at[448, "Q<"], 64] if at[448, "Q<"].positive?),
   [24, "Q<", at[24, "Q<"], at[16, "L<"] * 4]].compact
end

def compact(bytes)
  small = bytes.byteslice(0, HEAD)
  sections(bytes).each do |place, format, offset, size|
    small << ("\0" * (-small.bytesize % 8))
    put(small, place, small.bytesize, format)
    small << bytes.byteslice(offset, size)
  end
  put(small, 20, 4, "L<")
  put(small, 52, 2, "L<")
  put(small, 460, 2, "L<") if number(small, 448, "Q<").positive?
  put(small, 384, 4, "Q<")
  small
end

Dir[File.join(SOURCE, "*.flight")].each do |path|
  small = compact(File.binread(path))
  name = File.basename(path, ".flight")
  File.binwrite(File.join(SEEDS, name), small)
  File.binwrite(File.join(SEEDS, "#{name}_cut"), small.byteslice(0, small.bytesize - 100))
end

# A request with a query in it, a wait for a lock and a collection, as kind, detail and code: contract/events-v1.md.
COURSE = [[12, 0, 0], [8, 0, 1], [5, 0, 0], [3, 0, 0], [4, 0, 0], [10, 0, 0], [5, 1, 0], [4, 0, 0], [11, 0, 0],
          [6, 1, 0], [7, 0, 0], [9, 0, 200]].freeze

def events(mode, capacity)
  head = ["PBEVENTS", 1, 4096, mode, 2, 7, 4096, 64, 1, 4160, 32, mode - 1, capacity, 4242, 0, 99, 1, 2, 9000, 10, 8000]
         .pack("a8L<4Q<2L<2Q<L<2Q<L<l<Q<6")
  head << ("\0" * (192 - head.bytesize)) << [COURSE.size].pack("Q<")
  slots = Array.new(capacity)
  COURSE.each_with_index do |(kind, detail, code), k|
    slots[k % capacity] = [k + 1, 100 * (k + 1), 1, kind, detail, code, 0].pack("Q<2L<C2S<Q<")
  end
  head.ljust(4096, "\0") << [1, 4243, "worker 1"].pack("L<2a56") << slots.map { |slot| slot || ("\0" * 32) }.join
end

FileUtils.mkdir_p(SEEDS.sub("flight", "events"))
{ "trace" => events(1, 16), "full" => events(1, 8), "ring" => events(2, 8) }.each do |name, bytes|
  File.binwrite(File.join(SEEDS.sub("flight", "events"), name), bytes)
end
