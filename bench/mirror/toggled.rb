# frozen_string_literal: true

require_relative "counted"

# One mirror whose shadow comes and goes by reload: what it answers a second without it and with it, in turns. One process, one
# set of connections and neighbouring moments: neither where a process happens to lie in memory nor the machine's drift comes
# between the two.
class Toggled
  # What a reload leaves under way ends within this; then the windows without the shadow are truly without it.
  DEADLINE = "1s"

  # `shadow`: its URL, or nil for a reload that changes nothing that matters.
  def initialize(bench, folder, primary, shadow)
    @shadow = shadow
    @config = "#{folder}/mirror.toml"
    configure(with: false)
    @mirror = Counted.new(bench, folder, "toggled", primary, ["--config", @config])
  end

  # Answers a second without it and with it, as often as asked; and the most memory that was taken, in MiB.
  def measure(turns)
    @mirror.begin
    pairs = Array.new(turns) { [rate(with: false), rate(with: true)] }
    [pairs.map(&:first), pairs.map(&:last), @mirror.peak_mib]
  ensure
    @mirror.stop
  end

  private

  def rate(with:)
    configure(with:)
    before = shadow["sampled"]
    @mirror.reload
    if @shadow && with
      @mirror.await("the shadow") { shadow["sampled"] > before }
    elsif @shadow
      @mirror.await("the shadow's end") { gone? }
    end
    @mirror.rate
  end

  def configure(with:)
    shadow = "\n[shadow.a]\nurl = \"#{@shadow}\"\ndeadline = \"#{DEADLINE}\"\n" if with && @shadow
    File.write(@config, "drain = \"#{with ? 31 : 30}s\"\n#{shadow}")
  end

  def shadow = @mirror.counts["shadows"].first || { "sampled" => 0, "pending" => 0 }

  # Nothing more comes to it, and what had come has ended.
  def gone?
    before = shadow
    sleep 0.05
    before["pending"].zero? && shadow == before
  end
end
