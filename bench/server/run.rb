# frozen_string_literal: true

# What servers do around a trivial application, by version: rows of crates/predict/src/calibrated.tsv, which `predict` and `tune`
# take where a trace does not hold it. `ruby bench/server/run.rb [GEMS...]`: folders of other gems, each with another Puma or
# Unicorn.
#   --rounds N   starts of each version, 3 unless given; versions take turns
#   --rehearse   one round that a busy machine may spoil: its rows are not to be kept
#   --write      replaces the rows of the versions that were measured; otherwise they are printed

require "open3"
require_relative "../support/build"
require_relative "site"

TABLE = "#{Build::ROOT}/crates/predict/src/calibrated.tsv".freeze

# A version of a server that is installed.
Version = Struct.new(:name, :number, :gems) do
  def to_s = "#{name} #{number}"
end

def found(name, gems)
  script = "gem #{name.dump}; puts Gem.loaded_specs[#{name.dump}].version"
  out, status = Open3.capture2(Site.environment(gems), "ruby", "-e", script, err: File::NULL)
  Version.new(name, out.strip, gems) if status.success?
end

def versions(folders)
  %w[puma unicorn].flat_map { |name| [nil, *folders].filter_map { |gems| found(name, gems) } }.uniq(&:to_s)
end

# The files of all rounds of a version, by what was done.
Rounds = Struct.new(:plain, :kept, :cpu_ns) do
  # Puma's threads are known by a trace; of one request per process the agent records the course, and the rest is CPU time.
  def words(name) = name == "puma" ? [*plain, "--kept", *kept] : [*plain, "--cpu-ns", cpu_ns.to_s]
end

def row(version, rounds)
  example = %w[cargo run --quiet --locked --package powerband-predict --example server_columns --]
  out, err, status = Open3.capture3(*example, *rounds.words(version.name), chdir: Build::ROOT)
  abort "bench/server: #{version}: #{err}" unless status.success?
  [version.name, version.number, RUBY_VERSION, out.strip].join("\t")
end

# One start of the server, whose files are copied to `folder`.
def measure(version, folder, strict:)
  Site.open(BINARY, version.name, version.gems, strict:) do |site|
    done = yield site
    FileUtils.cp_r("#{site.folder}/flight", folder)
    done
  end
end

def round(version, rounds, folder, strict:)
  if version.name == "puma"
    [[rounds.plain, false], [rounds.kept, true]].each do |folders, kept|
      folders << "#{folder}-#{kept ? 'kept' : 'plain'}"
      measure(version, folders.last, strict:) { |site| site.trace(kept:) }
    end
  else
    rounds.plain << folder
    rounds.cpu_ns += measure(version, folder, strict:, &:cpu_ns)
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
rehearses = ARGV.delete("--rehearse")
abort "bench/server: --rehearse has no rows to --write; leave one of the two out" if rehearses && writes
rounds = 1 if rehearses
all = versions(ARGV.map { |folder| File.expand_path(folder) })
BINARY = Build.program_and_agent("bench/server")
warn "bench/server: #{all.join(', ')}; #{rounds} rounds, about #{(all.length * rounds * 25 / 60) + 1} min"
Dir.mktmpdir("bench-server-rounds-") do |kept|
  found = all.to_h { |version| [version, Rounds.new([], [], 0)] }
  rounds.times do |number|
    all.shuffle(random: Random.new(number)).each do |version|
      round(version, found[version], "#{kept}/#{version.name}-#{version.number}-#{number}", strict: !rehearses)
    end
  end
  rows = all.map { |version| row(version, found[version]) }
  writes ? write(rows) : puts(rows)
end
