# frozen_string_literal: true

require "rexml/document"
require_relative "support/nginx"
require_relative "support/powerband"

# `powerband load merge` of what two real runs wrote, as two machines of a CI matrix would.
class LoadMergeTest < PowerbandTest
  parallelize_me!

  include Nginx

  # Together, too, so few that no p99 of the generator's lateness is judged.
  FEW = 40

  def test_the_documents_of_two_runs
    machines = two_runs
    merged = merge(*files("json"), "--json", "--assert", "max=1m,errors=0%")
    assert_equal 0, merged.code, merged.to_s
    assert_valid_document merged.out, "load-v1"
    document = JSON.parse(merged.out)
    %w[asked sent answered ok failed connections].each do |count|
      assert_equal machines.sum { |one| one["counts"][count] }, document["counts"][count], count
    end
    assert_equal({ "200" => 2 * FEW }, document["statuses"])
    assert_equal [2 * FEW, machines.map do |one|
                             one["response"]["max_ms"]
                           end.max], document["response"].values_at("count", "max_ms")
    assert_equal %w[1.json 2.json], document["merged"].map { |part| part["file"] }.sort
    assert_equal %w[holds holds], document["assertions"].map { |assertion| assertion["outcome"] }
    page = merge(*files("json"))
    assert_match(/\A2 runs merged: \d\.json, \d\.json\.$/, page.out)
    assert_match(/^#{2 * FEW} requests scheduled/, page.out)
  end

  def test_the_exit_code_and_the_report_are_those_of_the_sum
    two_runs
    fails = merge(*files("json"), "--assert", "p50=1us,errors=0%", "--junit", "report.xml")
    assert_equal 1, fails.code, fails.to_s
    assert_match(/p50=1us fails/, fails.err)
    suite = REXML::Document.new(File.read(File.join(@dir, "report.xml"))).root.elements["testsuite"]
    assert_equal "powerband load merge", suite.attributes["name"]
    assert_equal %w[2 1 0], %w[tests failures errors].map { |count| suite.attributes[count] }
    undecided = merge(*files("json"), "--assert", "p99.9=1m")
    assert_equal 3, undecided.code, undecided.to_s
  end

  def test_the_logs_of_two_runs
    two_runs
    merged = merge(*files("hlog"), "--assert", "p50=1m", "--hdr-log", "all.hlog")
    assert_equal 0, merged.code, merged.to_s
    assert_match(/\A2 logs merged: 1\.hlog, 2\.hlog\.$/, merged.out)
    assert_match(/^#{2 * FEW} requests ended/, merged.out)
    assert_match(/A log does not say what was asked/, merged.out)
    again = merge("all.hlog")
    table = ->(ended) { ended.out.lines.grep(/^(response|service)/) }
    assert_equal 2, table[merged].size
    assert_equal table[merged], table[again]
    refused(/merge documents/, *files("hlog"), "--assert", "min-throughput=1/s")
    refused(/neither workload nor statuses/, *files("hlog"), "--json")
  end

  def test_runs_one_after_the_other_keep_no_limit
    [1, 2].each { |machine| run_of(machine) }
    %w[json hlog].each do |kind|
      undecided = merge(*files(kind), "--assert", "max=1m")
      assert_equal 3, undecided.code, undecided.to_s
      assert_match(/max=1m unknown: .*never under way at the same time/, undecided.err)
    end
  end

  def test_files_that_cannot_be_merged
    run_of(1)
    refused(/1\.json \(started at .* is given twice/, "1.json", "1.json")
    refused(/are the same log/, "1.hlog", "1.hlog")
    refused(/merge files of one kind/, "1.json", "1.hlog")
    text = File.read(File.join(@dir, "1.json"))
    File.write(File.join(@dir, "half.json"), text[0, text.size / 2])
    refused(/half\.json: EOF/, "1.json", "half.json")
    earlier = JSON.parse(text)
    earlier["response"].delete("hdr")
    File.write(File.join(@dir, "earlier.json"), JSON.generate(earlier))
    refused(/earlier\.json: it holds no histograms.*write it again/, "earlier.json")
    refused(/gone\.json: No such file/, "gone.json")
    refused(/add --assert/, "1.json", "--junit", "report.xml")
  end

  private

  def files(kind) = [1, 2].map { |machine| "#{machine}.#{kind}" }

  # The server of the runs may go on.
  def refused(why, *words)
    ended = merge(*words)
    assert_equal 2, ended.code, ended.to_s
    assert_match(why, ended.err)
    assert_empty ended.out
  end

  def merge(*words) = powerband("load", "merge", *words)

  # Two runs whose files say that both began when the first did: what is merged has all of the shorter window in common.
  def two_runs
    machines = [1, 2].map { |machine| run_of(machine) }
    first, second = machines
    second["started_at"] = first["started_at"]
    File.write(File.join(@dir, "2.json"), JSON.generate(second))
    one, other = files("hlog").map { |file| File.join(@dir, file) }
    began = File.read(one)[/BaseTime: \d+\.\d+/]
    File.write(other, File.read(other).sub(/BaseTime: \d+\.\d+/, began))
    machines
  end

  # A run as on one machine, whose document and log it leaves.
  def run_of(machine)
    @site ||= nginx
    ended = powerband("load", @site.url, "-n", FEW, "-c", 2, "--seed", machine, "--json", "--quiet", "--hdr-log",
                      "#{machine}.hlog")
    assert_equal 0, ended.code, ended.to_s
    File.write(File.join(@dir, "#{machine}.json"), ended.out)
    JSON.parse(ended.out)
  end
end
