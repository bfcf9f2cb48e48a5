# frozen_string_literal: true

# The tool itself, as anybody would run it. Every run has as many clients, so that capacities are comparable.
class Powerband
  BINARY = "#{ENV.fetch('CARGO_TARGET_DIR', "#{ROOT}/target")}/release/powerband".freeze
  CLIENTS = 32
  UNDECIDED = 3

  def initialize(name)
    @config = "#{__dir__}/#{name}.toml"
    @runs = "#{ROOT}/target/bench-grid/#{name}"
  end

  # The run document, which is there as well where nothing could be decided.
  def run(verb, *words)
    command = [BINARY, verb, "--config", @config, "--runs", @runs, "--connections", CLIENTS.to_s, *words, "--json"]
    output, status = printed(command)
    return JSON.parse(output) if status.success? || status.exitstatus == UNDECIDED

    abort "bench/grid: #{command.join(' ')} ended with #{status.exitstatus}"
  end

  private

  # It ends what it started, and does not outlive whoever runs it.
  def printed(command)
    Open3.popen2(*command) do |input, output, running|
      input.close
      [output.read, running.value]
    ensure
      stop(running)
    end
  end

  def stop(running)
    Process.kill(:TERM, running.pid) if running.alive?
    running.join
  end
end
