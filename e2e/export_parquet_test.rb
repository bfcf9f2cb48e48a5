# frozen_string_literal: true

require "etc"
require_relative "support/duckdb"
require_relative "support/powerband"
require_relative "support/servers"

# `powerband export --parquet` on the flight files of a real Puma, read by DuckDB. Its queries are tested in crates/archive.
class ExportParquetTest < PowerbandTest
  parallelize_me!

  include DuckDB
  include Servers

  # Each request has one row, whenever the exporter is killed.
  def test_a_killed_exporter_loses_nothing_and_writes_nothing_twice
    lacks = DuckDB.lacks
    skip lacks if lacks
    inject = [BINARY, "run", "--flight-dir", File.dirname(folder), "--"]
    site = puma(File.join(APPS, "io"), before: inject, env: { "WAIT_MS" => "1" })
    began = Time.now
    10.times { assert_equal "200", site.get("/").code }
    killed = exporting
    10.times { assert_equal "200", site.get("/").code }
    killed.signal(:KILL)
    finish(killed)
    assert_empty files, "no file was due"
    2.times do
      exporter = exporting
      exporter.signal(:TERM)
      ended = finish(exporter, within: 5)
      assert_equal [0, ""], [ended.code, ended.err]
    end
    5.times { assert_equal "200", site.get("/").code }
    assert_equal 0, once.code
    rows = sql(<<~SQL)
      SELECT count(*), min(arrived) >= to_timestamp(#{began.to_i}), bool_and(status = 200), min(wall_us) >= 1000, any_value(service)
      FROM #{table('requests')}
    SQL
    assert_equal [[25, true, true, true, "shop"]], rows
    assert_equal [[true]], sql("SELECT min(resident_bytes) > 1000000 FROM #{table('memory')}")
    assert_equal [0o600], files.map { |file| File.stat(file).mode & 0o777 }.uniq
  ensure
    stop(site, :KILL) if site
  end

  def test_each_exporter_has_a_name_of_its_own
    FileUtils.mkdir_p(folder)
    exporter = exporting
    refused = once
    assert_equal 3, refused.code
    assert_match(/--parquet: another exporter writes files of shop as .*; end it, or give/, refused.err)
    assert_equal 0, once("--resource", "service.instance.id=other").code
    exporter.signal(:INT)
    assert_equal 0, finish(exporter, within: 5).code
    assert_refused powerband("export", folder, "--parquet", parquet, "--service", "../x", "--keep", "1h"), 2,
                   %r{--service = "\.\./x": .*give at most 100 letters.*--keep = "1h": out of range}m
  end

  def test_a_folder_that_cannot_be_written
    File.write(parquet, "")
    assert_refused once, 3, /--parquet: cannot create .*parquet.*; name a folder, not a file/
  end

  private

  def folder = File.join(@dir, "flight", Process.uid.to_s)

  def parquet = File.join(@dir, "parquet")

  def files = Dir[File.join(parquet, "*/service=*/day=*/*")]

  def table(name) = "read_parquet('#{parquet}/#{name}/*/*/*.parquet', hive_partitioning = true)"

  def arguments = ["export", File.dirname(folder), "--parquet", parquet, "--service", "shop"]

  def once(*words) = powerband(*arguments, "--once", *words)

  # Its address is printed once signals end it in good order.
  def exporting
    exporter = start(BINARY, *arguments, "--listen", "127.0.0.1:0")
    await("the exporter's address", of: exporter) { exporter.out.end_with?("\n") }
    exporter
  end
end
