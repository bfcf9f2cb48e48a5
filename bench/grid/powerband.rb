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
    command = [BINARY, verb, "--config", @config, "--runs", @runs, *SAME, *words, "--json"]
    asked = "#{kept}.asked"
    # What was asked in another way, or of another seed, is no part of this.
    resumed = ENV["RESUME"] == "1" && File.exist?(asked) && File.read(asked) == command.join("\n")
    return JSON.parse(File.read(kept)) if resumed

    FileUtils.rm_f(asked)
    printed = "#{@runs}/under-way.json"
    code = Command.run(*command, out: printed).exitstatus
    if [0, UNDECIDED].include?(code)
      FileUtils.mv(printed, kept)
      File.write(asked, command.join("\n"))
      return JSON.parse(File.read(kept))
    end

    abort "bench/grid: #{command.join(' ')} ended with #{code || 'a signal'}"
  end
end
