# frozen_string_literal: true

# The tool itself, as anybody would run it. Every run has as many clients, so that capacities are comparable.
class Powerband
  CLIENTS = 32
  UNDECIDED = 3

  def initialize(name)
    @config = "#{__dir__}/#{name}.toml"
    @runs = "#{ROOT}/target/bench-grid/#{name}"
    FileUtils.mkdir_p(@runs)
  end

  # The run document, which is there as well where nothing could be decided.
  def run(verb, *words)
    command = [BINARY, verb, "--config", @config, "--runs", @runs, "--connections", CLIENTS.to_s, *words, "--json"]
    printed = "#{@runs}/#{verb}.json"
    code = Command.run(*command, out: printed).exitstatus
    return JSON.parse(File.read(printed)) if [0, UNDECIDED].include?(code)

    abort "bench/grid: #{command.join(' ')} ended with #{code || 'a signal'}"
  end
end
