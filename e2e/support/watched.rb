# frozen_string_literal: true

require_relative "servers"

# A server with the agent that `powerband watch` and `memory` can look at.
module Watched
  include Servers

  # What the block returns, which runs while a server answers one request after the other.
  def watched(env = {}, app: "mixed")
    @flight = File.join(@dir, "flight")
    before = [PowerbandTest::BINARY, "run", "--flight-dir", @flight, "--"]
    @site = puma(File.join(PowerbandTest::APPS, app), before:, env:)
    ends = false
    client = Thread.new { @site.get("/") until ends }
    await("a flight file") { Dir.glob(File.join(@flight, "**/*.flight")).any? }
    # The file may be half made until its process has answered.
    @site.get("/")
    yield
  ensure
    ends = true
    client&.join
    stop(@site, :KILL) if @site
  end
end
