# frozen_string_literal: true

require "test_helper"
require "json"
require "support/setup_server"

# A search for a leak in a real server, as the program asks for it.
class LeakTest < Minitest::Test
  include SetupServer

  TOKEN = { "X-Powerband-Leak" => "0123abcd" }.freeze

  def test_a_server_answers_questions_with_the_token_and_records_its_requests
    with_setup(PumaServer, "-t", "1:1", setup: { "LEAK" => "0123abcd" }) do |server|
      log = asked(server, "/begin").fetch("file")
      3.times { ask(server) }

      assert_equal 2, asked(server, "/boundary")["boundaries"]
      ask(server)
      dump = asked(server, "/end").fetch("file")

      assert_equal [0o600, 0o600], [log, dump].map { |path| File.stat(path).mode & 0o777 }
      assert_logged File.readlines(log).map { |line| JSON.parse(line) }
      assert_dumped File.readlines(dump).map { |line| JSON.parse(line) }
      assert_equal({ "names" => {} }, asked(server, "/names?0-1"))
    end
  end

  def test_without_the_token_or_the_variable_there_are_no_questions
    with_setup(PumaServer, "-t", "1:1", setup: { "LEAK" => "0123abcd" }) do |server|
      assert_includes JSON.parse(server.get("/begin", "X-Powerband-Leak" => "other")), "parent"
      assert_match(%r{no question: /what}, server.get("/what", TOKEN))
    end
    with_setup(PumaServer, "-t", "1:1", setup: { "WARMUP" => "0" }) do |server|
      assert_includes JSON.parse(server.get("/begin", TOKEN)), "parent"
    end
  end

  # Addresses are compared over all rounds.
  def test_nothing_is_compacted_from_the_beginning_on
    with_setup(PumaServer, "-t", "1:1", setup: { "LEAK" => "0123abcd", "AUTO_COMPACT" => "1" }) do |server|
      assert ask(server)["auto_compact"]
      asked(server, "/begin")

      refute ask(server)["auto_compact"]
    end
  end

  private

  def asked(server, path)
    JSON.parse(server.get(path, TOKEN))
  end

  def assert_logged(lines)
    boundaries, rest = lines.partition { |line| line.first == "boundary" }
    requests, sizes = rest.partition { |line| line.first == "request" }
    counts = boundaries.map(&:last)

    assert_equal 3, counts.size
    assert_equal counts.sort.uniq, counts
    assert_equal ["GET /"] * 4, requests.map(&:last)
    assert_equal 3, requests.count { |line| line[1].between?(counts[0] + 1, counts[1] - 1) }
    assert_equal [0, 1, 2], sizes.map { |line| line[1] }.uniq
    assert(sizes.all? { |line| %w[Array Hash String].include?(line[2]) && line[3].positive? && line[4] >= 64 })
  end

  # What crates/heap reads of it.
  def assert_dumped(lines)
    assert_includes lines.map { |line| line["root"] }, "vm"
    object = lines.find { |line| line["type"] == "CLASS" && line["name"] == "Object" }

    assert_match(/\A0x\h+\z/, object["address"])
    assert_operator object["references"].size, :>, 10
    made = lines.select { |line| line["generation"] }

    assert_operator made.size, :>, 0
    assert(made.all? { |line| line["memsize"].positive? && line["generation"].positive? })
  end
end
