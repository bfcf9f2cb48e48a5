# frozen_string_literal: true

require "minitest"
require "open3"
require "tmpdir"

# The vocabulary that `make lint` holds the docs against finds each of its words.
class ProseTest < Minitest::Test
  WORDS = File.expand_path("../script/prose/words.txt", __dir__)

  def setup
    skip "codespell is not installed" unless system("codespell", "--version", out: File::NULL, err: File::NULL)
  end

  def test_each_word_is_found_and_its_replacement_is_not
    Dir.mktmpdir do |dir|
      words = File.readlines(WORDS, chomp: true).map { |line| line.split("->") }
      page = File.join(dir, "page.md")
      File.write(page, words.map { |word, _| "It is #{word} here.\n" }.join)
      found, = Open3.capture2e("codespell", "-D", WORDS, page)
      assert_equal words.size, found.lines.size, found
      File.write(page, words.map { |_, instead| "It is #{instead} here.\n" }.join)
      clean, status = Open3.capture2e("codespell", "-D", WORDS, page)
      assert status.success?, clean
    end
  end
end
