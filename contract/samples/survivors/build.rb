# frozen_string_literal: true

# Builds the golden samples of the survivors file byte by byte from contract/survivors-file-v1.md, sharing no code with the
# agent that writes real ones or with the crate that reads them.
#
#   ruby contract/samples/survivors/build.rb [FOLDER]     (default: this folder)

require "json"

HEADER_LAYOUT = {
  "version" => [8, "L<"], "header_size" => [12, "L<"], "state" => [16, "L<"], "refusal" => [20, "L<"], "request" => [24, "Q<"],
  "pid" => [32, "L<"], "worker_index" => [36, "l<"], "start_ticks" => [40, "Q<"], "created_wall_ns" => [48, "Q<"],
  "created_mono_ns" => [56, "Q<"], "deadline_mono_ns" => [64, "Q<"], "last_mono_ns" => [72, "Q<"], "began_mono_ns" => [80, "Q<"],
  "ended_mono_ns" => [88, "Q<"], "every" => [96, "L<"], "collections" => [100, "L<"], "capacity" => [104, "Q<"],
  "used" => [112, "Q<"], "allocated" => [120, "Q<"], "sampled" => [128, "Q<"], "internal" => [136, "Q<"], "lost" => [144, "Q<"],
  "undecided" => [152, "Q<"], "frames" => [160, "L<"], "sites" => [164, "L<"]
}.freeze

FRAMES = [["<cfunc>", "Array#map"], ["/srv/shop/app/models/order.rb", "block in Order#total"],
          ["config.ru", "block (2 levels) in <main>"], ["/srv/shop/lib/größe.rb", "Größe#cm"]].freeze
# Class, steps (frame, line), sampled, promoted, died, and their bytes.
SITES = [["String", [[1, 12], [0, 0], [2, 7]], 700, 100, 590, 4_100, 30_000], ["Array", [[0, 0], [2, 7]], 250, 0, 250, 0, 20_000],
         ["(anonymous)", [[3, 1]], 20, 20, 0, 800, 0], ["Größe", [], 1, 0, 0, 0, 0]].freeze

def body
  frames = FRAMES.map { |path, label| [path.bytesize, label.bytesize].pack("L<L<") + path.b + label.b }
  sites = SITES.map do |name, steps, *counts|
    [name.bytesize, steps.length, *counts].pack("L<L<Q<5") + name.b + steps.map { |step| step.pack("L<l<") }.join
  end
  (frames + sites).join
end

def header(**changes)
  created = 9_876_543_210_000
  { "version" => 1, "header_size" => 4096, "state" => 2, "refusal" => 0, "request" => 0x1122334455667788, "pid" => 4242,
    "worker_index" => 1, "start_ticks" => 987_654, "created_wall_ns" => 1_700_000_000_000_000_000,
    "created_mono_ns" => created,
    "deadline_mono_ns" => created + 5_000_000_000, "last_mono_ns" => created + 10_000_000_000,
    "began_mono_ns" => created + 2_000_000, "ended_mono_ns" => created + 6_000_000_000, "every" => 512,
    "collections" => 9, "capacity" => 1024, "used" => body.bytesize,
    "allocated" => 510_000, "sampled" => 1000, "internal" => 27, "lost" => 2, "undecided" => 11, "frames" => FRAMES.length,
    "sites" => SITES.length }.merge(changes.transform_keys(&:to_s))
end

def file(header, body)
  bytes = "PBSURVIV".b.ljust(4096, "\0")
  header.each do |name, value|
    offset, format = HEADER_LAYOUT[name]
    bytes[offset, [value].pack(format).bytesize] = [value].pack(format)
  end
  bytes + body.ljust(header["capacity"], "\0")
end

nothing = { used: 0, frames: 0, sites: 0, allocated: 0, sampled: 0, internal: 0, lost: 0, undecided: 0, collections: 0,
            ended_mono_ns: 0 }
samples = {
  "over" => [header, body, FRAMES, SITES],
  "refused" => [header(state: 3, refusal: 3, **nothing), "".b, [], []],
  "dead" => [header(state: 1, worker_index: -1, **nothing), "".b, [], []]
}
folder = ARGV.fetch(0, __dir__)
samples.each do |name, (header, body, frames, sites)|
  File.binwrite(File.join(folder, "#{name}.survivors"), file(header, body))
  keys = %w[class steps sampled promoted died promoted_bytes died_bytes]
  said = { header:, frames: frames.map { |path, label| { path:, label: } }, sites: sites.map { |site| keys.zip(site).to_h } }
  File.write(File.join(folder, "#{name}.json"), "#{JSON.pretty_generate(said)}\n")
end
