# frozen_string_literal: true

# The tool itself, as anybody would run it. Every run has as many clients, and as many cores for the server, so that
# capacities are comparable: where that is left to each run, it depends on how much its first configuration carries.
class Powerband
  SAME = %w[--connections 32 --generator-core false].freeze
  UNDECIDED = 3

  def initialize(name)
    @config = "#{__dir__}/#{name}.toml"
    @runs = "#{ROOT}/target/bench-grid/#{name}"
    FileUtils.mkdir_p(@runs)
  end

  # The run document, which is there as well where nothing could be decided; with RESUME=1 that of an earlier sitting.
  def run(step, verb, *words)
    kept = "#{@runs}/#{step}.json"
    return JSON.parse(File.read(kept)) if ENV["RESUME"] == "1" && File.exist?(kept)

    command = [BINARY, verb, "--config", @config, "--runs", @runs, *SAME, *words, "--json"]
    printed = "#{@runs}/under-way.json"
    code = Command.run(*command, out: printed).exitstatus
    if [0, UNDECIDED].include?(code)
      FileUtils.mv(printed, kept)
      return JSON.parse(File.read(kept))
    end

    abort "bench/grid: #{command.join(' ')} ended with #{code || 'a signal'}"
  end
end
