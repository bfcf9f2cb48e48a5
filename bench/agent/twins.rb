# frozen_string_literal: true

require_relative "side_by_side"
require_relative "../../gem/test/support/flight_reader"

# Two processes forked from the same booted one, of which one then loads the agent and records, by arm.
class TwinServers
  INJECT = "#{Bench::ROOT}/gem/lib/powerband/inject.rb".freeze
  PATIENCE_S = 2 * 10 # twin_server.rb gives its children half of that

  # The arms in the order in which they are forked.
  def initialize(bench, site, arms)
    @bench = bench
    @site = site
    @places = arms.to_h { |arm| [arm, Driven.free_port] }
    @said, said = IO.pipe
    stdin, @life = IO.pipe
    environment = bench.environment("none").merge(site.env, "RACK_ENV" => "production")
    @pid = Process.spawn(environment, *command, chdir: site.dir, in: stdin, out: File::NULL, err: log, 3 => said)
    [stdin, said].each(&:close)
  end

  # Returns once both serve.
  def await
    pids = @said.gets or raise "#{@site.name} could not be forked: #{File.read(log)}"
    @servers = @places.zip(pids.split).to_h { |(arm, port), pid| [arm, Twin.new(@bench, @site, log:, port:, pid: Integer(pid))] }
    @servers.each_value(&:await)
  end

  # The recording twin has to have recorded so many requests, and the other one none, or the round says nothing.
  def check(answered)
    counted = @servers.transform_values(&:recorded)
    return if counted["none"].nil? && counted["powerband"].to_i >= answered - @site.threads

    raise "of #{answered} requests to each twin these were recorded: #{counted}"
  end

  # Their standard input ends, and with it they do.
  def stop
    @life.close
    Process.kill(:TERM, @pid) unless @servers # it may be far from forking
    (PATIENCE_S * 10).times do
      return if Process.wait(@pid, Process::WNOHANG)

      sleep 0.1
    end
    Process.kill(:KILL, @pid)
    Process.wait(@pid)
  ensure
    @said.close
  end

  private

  def command
    places = @places.map { |arm, port| arm == "powerband" ? "#{port}:#{INJECT}" : port.to_s }
    ["ruby", "#{__dir__}/twin_server.rb", @site.threads.to_s, *places, *@site.paths]
  end

  def log = "#{@bench.folder}/twins.log"
end

# One of them: not a child of ours.
class Twin < Driven
  # Requests in the process's flight file; nil where there is none.
  def recorded
    file = Dir["#{@bench.folder}/flight/#{Process.uid}/#{@pid}-*.flight"].first
    FlightReader.new(File.binread(file)).totals[:requests] if file
  end

  private

  def ended? = !File.exist?("/proc/#{@pid}")
end

# The same as SideBySide, of twins, which are asked for the same requests in the same order: what a process owes to where its
# memory lies or to its hash seed, some percent from one start to the next, is the same in both. Of the two, the one that is
# forked first records in every other round; they change places at every turn.
class Twins < SideBySide
  ARMS = %w[none powerband].freeze

  # So many requests to each twin in a turn, after so many that warm it.
  def initialize(bench, site, rounds:, turns:, requests:, warm:)
    super(bench, site, rounds:, seconds: nil, turns:, arms: ARMS)
    @requests = requests
    @warm = warm
    @logs = { per_s: [], per_cpu_s: [] }
  end

  def table
    made = super
    spread = @logs.values.map { |logs| format("%.1f %%", deviation(logs) * 100) }
    "#{made}\nFrom one round to the next the ratios spread by #{spread.join(' and ')} (standard deviation of the logarithm).\n"
  end

  private

  def round(number)
    twins = TwinServers.new(@bench, @site, @arms.rotate(number))
    servers = twins.await
    order = @arms.shuffle(random: @bench.random)
    sums = @arms.to_h { |arm| [arm, Round.new(0, 0.0, 0.0)] }
    turn(@warm, order, servers) { |server, bound| server.load(*bound) }
    @turns.times do |nth|
      turn(@requests, order.rotate(nth), servers) { |server, bound, arm| add(sums[arm], server, bound) }
    end
    twins.check(@warm + (@turns * @requests))
    sums.tap { say(number, sums) }
  ensure
    twins&.stop
  end

  def turn(requests, order, servers)
    bound = ["-n", requests.to_s, "--duration", "10m", "--seed", @bench.random.rand(1 << 32).to_s]
    at_once(order.zip(CORES), servers) { |server, arm| yield server, bound, arm }
  end

  def say(number, sums)
    @logs.each { |figure, logs| logs << Math.log(sums["powerband"].public_send(figure) / sums["none"].public_send(figure)) }
    ratios = @logs.values.map { |logs| format("%.3f", Math.exp(logs.last)) }.join(", per CPU second ")
    seconds = sums.map { |arm, sum| "#{arm} #{format('%.1f', sum.seconds)} s" }.join(", ")
    @bench.progress "#{@site.name}, twins, round #{number} of #{@rounds}: ratio #{ratios} (#{seconds})"
  end

  def deviation(values)
    mean = values.sum / values.size
    Math.sqrt(values.sum { |value| (value - mean)**2 } / (values.size - 1))
  end
end
