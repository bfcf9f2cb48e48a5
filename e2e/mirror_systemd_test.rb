# frozen_string_literal: true

require_relative "support/mirrors"
require_relative "support/powerband"

# The units of packaging/systemd, and systemd's own way to pass a socket.
class MirrorSystemdTest < PowerbandTest
  include Mirrors

  UNITS = Dir[File.join(ROOT, "packaging/systemd/powerband-mirror.{service,socket}")].freeze

  def test_systemd_understands_the_units
    lack("systemd-analyze")
    units = UNITS.map do |path|
      text = File.read(path).gsub("/usr/local/bin/powerband", BINARY)
      File.join(@dir, File.basename(path)).tap { |copy| File.write(copy, text) }
    end
    verified = finish(start("systemd-analyze", "verify", *units))
    # Of units of this machine it may complain as well.
    assert_equal [], (verified.out + verified.err).lines.grep(/powerband-mirror/)
  end

  def test_systemd_waits_longer_than_the_mirror_takes_to_end
    service = File.read(UNITS.grep(/service\z/).first)
    assert_match(/--listen systemd:#{File.read(UNITS.grep(/socket\z/).first)[/FileDescriptorName=(.+)/, 1]} /, service)
    assert_operator service[/TimeoutStopSec=(\d+)/, 1].to_i, :>, ENDING.values.sum
    lame_duck, drain, deadline = ENDING.values_at("LAME_DUCK", "DRAIN", "DEADLINE")
    assert_includes service, "lame_duck (#{lame_duck} s), drain (#{drain} s), the shadows' deadline (#{deadline} s)"
  end

  def test_systemd_restarts_a_mirror_whose_proxy_ended_by_itself
    service = File.read(UNITS.grep(/service\z/).first)
    ends = service.scan(/^(?:RestartPrevent|Success)ExitStatus=(.+)/).flatten.flat_map(&:split)
    assert_equal %w[2 3], ends.sort
    code = File.read(File.join(ROOT, "docs/mirror.md"))[/(\d+) the proxy ended by itself/, 1]
    refute_includes [nil, *ends], code
    assert_match(/^StartLimitIntervalSec=0$/, service[/\[Unit\].*?(?=^\[)/m])
  end

  def test_a_first_connection_starts_the_mirror
    lack("systemd-socket-activate")
    primary = puma(File.join(APPS, "hello"))
    port = free_port
    mirror = start("systemd-socket-activate", "--listen", "127.0.0.1:#{port}", "--fdname", "web",
                   BINARY, "mirror", "--listen", "systemd:web", "--primary", primary.url.chomp("/"))
    await("an answer", of: mirror) { listens?(port) && Net::HTTP.get("127.0.0.1", "/", port) == "hello\n" }
    mirror.signal(:TERM)
    assert_equal 0, finish(mirror).code
  end

  private

  def lack(program)
    found = ENV["PATH"].split(":").any? { |folder| File.executable?(File.join(folder, program)) }
    skip "#{program} is not installed: it is in Debian's package systemd" unless found
  end
end
