# frozen_string_literal: true

require_relative "throughput"

# The same as Throughput, of two arms at the same time: each server has a separate processor, and half-way through a round they
# change places. What the machine does to both at once, as it does on a shared one, is no difference between them.
class SideBySide < Throughput
  CORES = [0, 1].freeze

  private

  def round(number)
    @bench.progress "#{@site.name}, side by side, round #{number} of #{@rounds}"
    servers = @arms.to_h { |arm| [arm, Served.new(@bench, @site, arm)] }
    servers.each_value(&:await)
    order = @arms.shuffle(random: @bench.random)
    at_once(order.zip(CORES), servers) { |server| server.load("--duration", "2s") }
    sums = @arms.to_h { |arm| [arm, Round.new(0, 0.0, 0.0)] }
    turn = ["--duration", "#{@seconds / @turns.to_f}s"]
    @turns.times do |nth|
      at_once(order.rotate(nth).zip(CORES), servers) { |server, arm| add(sums[arm], server, turn) }
    end
    sums
  ensure
    servers&.each_value(&:stop)
  end

  def at_once(places, servers)
    places.each { |arm, core| servers[arm].pin(core) }
    places.map { |arm, _| Thread.new { yield servers[arm], arm } }.each(&:join)
  end
end
