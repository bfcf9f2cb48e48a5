# frozen_string_literal: true

require "tmpdir"
require "zlib"
require_relative "support/powerband"

# `powerband compare --shadow-log`: what is refused, with which exit code, and in which words.
class ShadowLogTest < PowerbandTest
  parallelize_me!

  # A log that holds no request: a head with its checksum and nothing else.
  def log(shadows)
    about = JSON.generate(written_by: "a test", capture: "monday", shadows: shadows, twin: "base")
    head = "\x89PBC\r\n\x1a\n".b + [1, 2, 0, about.bytesize, 0].pack("S<CCL<Q<") + ("\0" * 16)
    head + [Zlib.crc32(head + about)].pack("L<") + about
  end

  def compare(*words, shadows: %w[new base])
    Dir.mktmpdir("powerband-log-") do |folder|
      path = File.join(folder, "monday.log.pbc")
      File.binwrite(path, log(shadows))
      powerband("compare", "--shadow-log", path, *words)
    end
  end

  def test_a_log_without_requests_is_no_answer
    ended = compare
    assert_equal 3, ended.code, ended.to_s
    assert_match(/new against the twin base is undecided/, ended.out.split.join(" "))
    ended = compare("--json")
    assert_equal 3, ended.code, ended.to_s
    assert_valid_document(ended.out, "duplex-v1")
    assert_equal [false, true], JSON.parse(ended.out).fetch("shadows").map { |shadow| shadow.fetch("twin") }
    assert_match(/\Acandidate,reference,purpose,endpoint,verdict,/, compare("--csv").out)
  end

  def test_flags_of_experiments_mean_nothing_here
    assert_refused compare("--rate", "40", "--blocks=6"), 2, /--rate, --blocks: of measuring/, /leave out one or the other/
  end

  def test_configurations_and_a_log_are_two_questions
    ended = powerband("compare", "threads=3", "--shadow-log", "monday.log.pbc")
    assert_equal 2, ended.code, ended.to_s
    assert_match(/cannot be used with/, ended.err)
    assert_refused powerband("compare", "threads=3", "threads=5", "--csv"), 2, /--csv: of a mirror's log/
  end

  def test_what_is_none
    assert_refused compare("--twin", "old"), 2, /--twin = "old": the log has no such shadow; name one of new, base/
    assert_refused compare("--flights", "new"), 2, /--flights = "new": no name and folder; write NAME=DIR/
    assert_refused compare("--margin", "200%"), 2, /--margin = "200%"/
    assert_refused compare(shadows: []), 3, /the log names no shadow/
    assert_refused powerband("compare", "--shadow-log", __FILE__), 2, /not a capture file/
    assert_refused powerband("compare", "--shadow-log", "/nowhere.pbc"), 2, %r{/nowhere\.pbc: No such file}
  end
end
