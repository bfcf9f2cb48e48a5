# frozen_string_literal: true

require_relative "counted"

# Several mirrors, each with a closed loop, of which one runs at a time: what each answers a second, in turns of less
# than a second and in a random order.
class InTurns
  # `arms`: flags by name.
  def initialize(bench, folder, primary, arms)
    @bench = bench
    @mirrors = arms.to_h { |name, flags| [name, Counted.new(bench, folder, name.tr(", ", "-"), primary, flags)] }
  end

  # Answers a second by name, as often as asked.
  def measure(turns)
    @mirrors.each_value { |mirror| mirror.tap(&:begin).hold }
    Figures.rounds(turns, @mirrors.keys, @bench.random) do |name, _|
      @mirrors[name].let_go
      @mirrors[name].rate.tap { @mirrors[name].hold }
    end
  ensure
    @mirrors.each_value(&:stop)
  end
end
