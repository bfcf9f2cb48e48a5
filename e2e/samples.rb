# frozen_string_literal: true

# Makes the golden samples of the run and capacity documents anew:  ruby e2e/samples.rb
# Real runs of the purpose-made applications in the smallest windows; nothing is edited afterwards but the folder of the
# application, which is the checkout's. See contract/samples/run/README.md and contract/samples/capacity/README.md.
require "json"
require "open3"
require "tmpdir"

ROOT = File.expand_path("..", __dir__)
BINARY = ENV.fetch("POWERBAND_BINARY", File.join(ROOT, "target/release/powerband"))
SAMPLES = File.join(ROOT, "contract/samples")
RUNS = {
  "run/compare" => %w[compare threads=1 threads=3 --window 500ms],
  "run/sweep" => %w[sweep workers=0,2 --baseline threads=2 --window 500ms],
  "run/tune" => %w[tune --baseline threads=1 --threads 1,4 --workers 0 --max-arms 2 --budget 10m --max-memory 2GiB --window
                   500ms],
  "capacity/mixed" => %w[capacity --baseline threads=3 --budget 3m]
}.freeze
SETTINGS = { "HELD_MS" => "2", "WAIT_MS" => "20" }.freeze

# A busy host makes a run end without an answer; it is asked again.
def sample(words)
  Dir.mktmpdir do |runs|
    3.times do
      out, err, status = Open3.capture3(SETTINGS, BINARY, *words, "--app", "#{ROOT}/e2e/apps/mixed", "--slo", "p99=500ms",
                                        "--seed", "1", "--json", "--runs", runs)
      return out unless out.empty?

      warn "#{words.first}: #{err.lines.last} (#{status})"
    end
  end
  abort "#{words.first} did not come to an answer"
end

wanted = ARGV.empty? ? RUNS.keys : RUNS.keys.select { |name| ARGV.intersect?([name, *name.split("/")]) }
abort "no sample #{ARGV.join(' ')}: name one of #{RUNS.keys.join(' ')}" if wanted.empty?
wanted.each do |name|
  File.write(File.join(SAMPLES, "#{name}.json"), sample(RUNS.fetch(name)).gsub(ROOT, "/srv/powerband"))
end
