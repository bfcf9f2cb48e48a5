# frozen_string_literal: true

# What servers do around a trivial application, by version: rows of crates/predict/src/calibrated.tsv, which `predict` and `tune`
# take where a trace does not hold it. `ruby bench/server/run.rb [GEMS...]`: folders of other gems, each with another Puma or Unicorn.
#   --rounds N   starts of each version, 3 unless given; versions take turns
#   --write      replaces the rows of the versions that were measured; otherwise they are printed

require "open3"
require_relative "site"

ROOT = File.expand_path("../..", __dir__)
TABLE = "#{ROOT}/crates/predict/src/calibrated.tsv".freeze

# A version of a server that is installed.
Version = Struct.new(:name, :number, :gems) do
  def to_s = "#{name} #{number}"
end

def found(name, gems)
  environment = gems ? { "GEM_PATH" => "#{gems}:#{Gem.path.join(':')}" } : {}
  script = "gem #{name.dump}; puts Gem.loaded_specs[#{name.dump}].version"
  out, status = Open3.capture2(environment, "ruby", "-e", script, err: File::NULL)
  Version.new(name, out.strip, gems) if status.success?
end

def versions(folders)
  %w[puma unicorn].flat_map { |name| [nil, *folders].filter_map { |gems| found(name, gems) } }.uniq(&:to_s)
end

# Of all rounds together: folders that keep their files until the row is there.
def row(version, sites)
  cpu = sites.filter_map(&:last).sum
  words = version.name == "unicorn" ? ["--cpu-ns", cpu.to_s] : []
  example = %w[cargo run --quiet --locked --package powerband-predict --example server_columns --]
  out, err, status = Open3.capture3(*example, *sites.map(&:first), *words, chdir: ROOT)
  abort "bench/server: #{version}: #{err}" unless status.success?
  [version.name, version.number, RUBY_VERSION, out.strip].join("\t")
end

def measure(version, kept)
  Site.open(version.name, version.gems) do |site|
    cpu_ns = version.name == "unicorn" ? site.cpu_ns : site.trace
    folder = "#{kept}/#{version.name}-#{version.number}-#{rand(1 << 32)}"
    FileUtils.cp_r("#{site.folder}/flight", folder)
    [folder, cpu_ns]
  end
end

def write(rows)
  keys = rows.map { |row| row.split("\t").first(3) }
  kept = File.readlines(TABLE, chomp: true).reject { |line| keys.include?(line.split("\t").first(3)) }
  comments, others = kept.partition { |line| line.start_with?("#") }
  File.write(TABLE, [*comments, *(others + rows).sort, ""].join("\n"))
end

rounds = ARGV.include?("--rounds") ? Integer(ARGV.slice!(ARGV.index("--rounds"), 2).last) : 3
writes = ARGV.delete("--write")
all = versions(ARGV.map { |folder| File.expand_path(folder) })
warn "bench/server: #{all.join(', ')}; #{rounds} rounds, about #{all.length * rounds * 15 / 60 + 1} min"
Dir.mktmpdir("bench-server-rounds-") do |kept|
  sites = Hash.new { |found, version| found[version] = [] }
  rounds.times { |round| all.shuffle(random: Random.new(round)).each { |version| sites[version] << measure(version, kept) } }
  rows = all.map { |version| row(version, sites[version]) }
  writes ? write(rows) : puts(rows)
end
