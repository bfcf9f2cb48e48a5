# frozen_string_literal: true

require_relative "servers"

# `powerband mirror` in front of a test's own servers.
module Mirrors
  include Servers

  # How long the phases of its end take without flags, in seconds.
  ENDING = File.read(File.expand_path("../../crates/cli/src/commands/mirror/ending.rs", __dir__))
               .scan(/^pub const (\w+): Duration = Duration::from_secs\((\d+)\);/).to_h.transform_values(&:to_i).freeze

  # A mirror that serves; its status tells its counts.
  Mirror = Struct.new(:started, :port, :status_port) do
    def url(path = "/") = "http://127.0.0.1:#{port}#{path}"
    def status = JSON.parse(Net::HTTP.get("127.0.0.1", "/status.json", status_port))
    def counts = status.fetch("counts")
    def metrics = Net::HTTP.get("127.0.0.1", "/metrics", status_port)
  end

  # In front of `primary`, or of whom its file names; started by the words before its own where there are any. At a port that is
  # free, or at this one, where `listen` may name it in another way.
  def mirror(primary, *flags, before: [], port: free_port, listen: "127.0.0.1:#{port}", **how)
    status_port = free_port
    named = primary ? ["--primary", primary.url.chomp("/")] : []
    listens = ["--listen", listen, "--status", "127.0.0.1:#{status_port}"]
    started = start(*before, PowerbandTest::BINARY, "mirror", *listens, *named, *flags, **how)
    await("the mirror to listen", of: started) { listens?(port) && listens?(status_port) }
    Mirror.new(started, port, status_port)
  end
end
