# frozen_string_literal: true

require "io/console"
require "pty"
require_relative "support/powerband"
require_relative "support/watched"

# `powerband watch` on a real Puma: as text, and live under a pseudo-terminal.
class WatchTest < PowerbandTest
  parallelize_me!

  include Watched

  def test_a_window_as_text
    page = watched { powerband("watch", "--for", "2s", @flight) }
    assert_equal 0, page.code, page.to_s
    text = page.out.split.join(" ")
    ["1 process, puma", "requests/s", "GET /", "for I/O", "pid #{@site.started.pid}", " PSS"].each do |words|
      assert_includes text, words, page.out
    end
    page.out.lines.each { |line| assert_operator line.chomp.length, :<=, 100, line }
    refute_includes page.out, "\e"
  end

  def test_one_process_and_one_endpoint_as_text
    watched({ "POWERBAND_BURSTS" => "1" }) do
      pid = @site.started.pid.to_s
      page = powerband("watch", "--once", "--for", "2s", "--pid", pid, @flight)
      assert_equal 0, page.code, page.to_s
      text = page.out.split.join(" ")
      ["pid #{pid}, puma", "requests/s", "slowest requests", "GET /: 200 after",
       "In the order in which it happened:"].each do |words|
        assert_includes text, words, page.out
      end
      # Each of two waits of the application is I/O in the course of its request.
      assert_operator page.out.scan(%r{^ +[\d.]+ I/O}).length, :>=, 2, page.out
      page.out.lines.each { |line| assert_operator line.chomp.length, :<=, 100, line }

      page = powerband("watch", "--once", "--for", "2s", "--endpoint", "GET /", @flight)
      assert_equal 0, page.code, page.to_s
      assert_match(%r{\AGET / in 1 process, puma}, page.out)

      other = powerband("watch", "--once", "--for", "1s", "--endpoint", "GET /no", @flight)
      assert_equal 3, other.code, other.to_s
      assert_match(%r{--endpoint = "GET /no": no request of it ended within .*; endpoints with requests are GET /; give},
                   other.err)
      other = powerband("watch", "--once", "--pid", "1", @flight)
      assert_equal 3, other.code, other.to_s
      assert_match(/--pid = 1: no process of that number .* those that run are #{pid}$/, other.err)
    end
  end

  def test_live_into_a_process_and_back
    screen = nil
    code, = watched do
      live("watch", "--interval", "200ms", @flight) do |output, input|
        await("the totals on the screen") { (screen = read(output)).include?("requests/s") }
        input.write("\r")
        await("the process in detail") { (screen = read(output)).include?("ago") }
        input.write("\e")
        # The first letter was there before.
        await("the first screen") { (screen = read(output)).scan("nter details").length > 1 }
        input.write("q")
      end
    end
    assert_equal 0, code, screen
  end

  def test_live_until_q
    screen = nil
    code, before, after = watched do
      live("watch", "--interval", "200ms", @flight) do |output, input|
        await("the totals on the screen") { (screen = read(output)).include?("requests/s") }
        input.write("\t")
        # Only cells that change are sent, so that words may come in pieces.
        await("the other table") { (screen = read(output)).include?("GET") }
        input.write("q")
      end
    end
    assert_equal 0, code, screen
    assert_equal before, after, "the terminal is as it was"
    assert_includes @shown, "\e[?1049h"
    assert_operator @shown.rindex("\e[?1049l"), :>, @shown.rindex("\e[?1049h"), "the screen of before is back"
  end

  def test_a_closed_terminal_ends_it
    watched do
      # Each key draws the screen again, so that the terminal closes while it waits in some rounds, while it draws in others.
      [0, 1, 5, 20, 20, 20].each do |keys|
        live("watch", "--interval", "200ms", @flight) do |output, input|
          await("the totals on the screen") { read(output).include?("requests/s") }
          input.write("\t" * keys)
          output.close
          await("the end of watch") { ended? }
          break
        end
        assert_equal 129, @status.exitstatus, @status.inspect
      end
    end
  end

  def test_wrong_usage_and_nothing_to_watch
    empty = File.join(@dir, "empty")
    Dir.mkdir(empty)
    assert_refused powerband("watch", File.join(@dir, "no")), 2, /no: No such file/, /name a folder of flight files/
    assert_refused powerband("watch", empty), 3, /no flight file in .*empty/
    assert_refused powerband("watch", "--for", "10"), 2, /--for = "10"/
    assert_refused powerband("watch", "--for", "1h", "--interval", "1ms"), 2,
                   /--for = "1h": out of range; give a time from 1s to 5m/, /--interval = "1ms": out of range/
    sample = File.join(ROOT, "contract/samples/flight/wide.flight")
    assert_refused powerband("watch", "--for", "1s", sample), 3,
                   /no process runs that writes to the flight files/, /powerband inspect/
  end

  private

  # The exit code of a command under a terminal of 24 lines, and the terminal's settings before and after it.
  def live(*words)
    @shown = String.new(encoding: Encoding::BINARY)
    @status = nil
    main, terminal = PTY.open
    terminal.winsize = [24, 80]
    before = settings(terminal)
    environment = clean_environment.merge("TERM" => "xterm", LeftRunning::VARIABLE => @mark)
    @pid = Process.spawn(environment, BINARY, *words, in: terminal, out: terminal, err: terminal)
    yield main, main
    await("the end of watch") { read(main) && ended? }
    read(main)
    [@status.exitstatus, before, settings(terminal)]
  ensure
    Process.kill(:KILL, @pid) unless @status || ended?
    [main, terminal].each(&:close)
  end

  def ended? = !(@status = Process.wait2(@pid, Process::WNOHANG)&.last).nil?

  # Everything that was shown so far.
  def read(main)
    loop { @shown << main.read_nonblock(1 << 16) }
  rescue IO::WaitReadable
    @shown.dup.force_encoding(Encoding::UTF_8)
  end

  def settings(terminal)
    IO.popen(%w[stty -g], in: terminal, &:read)
  end
end
