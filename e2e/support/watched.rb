# frozen_string_literal: true

require_relative "servers"

# A server that `powerband watch` can look at.
module Watched
  include Servers

  # Runs the block while a server answers one request after the other.
  def watched(env = {})
    @flight = File.join(@dir, "flight")
    before = [PowerbandTest::BINARY, "run", "--flight-dir", @flight, "--"]
    @site = puma(File.join(PowerbandTest::APPS, "mixed"), before:, env:)
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
