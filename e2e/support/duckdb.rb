# frozen_string_literal: true

require "json"
require "open3"

# DuckDB's Python package, which script/bootstrap installs into the target folder.
module DuckDB
  TARGET = ENV.fetch("CARGO_TARGET_DIR", File.expand_path("../../target", __dir__))
  PYTHON = [{ "PYTHONPATH" => File.join(TARGET, "python") }, "python3", "-c"].freeze
  SCRIPT = "import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.argv[1]).fetchall(), default=str))"

  # Why nothing can be asked; nil where it can.
  def self.lacks
    "python3 has no package duckdb, which script/bootstrap installs" unless system(*PYTHON, "import duckdb", err: File::NULL)
  rescue Errno::ENOENT
    "python3 is not installed"
  end

  # The rows that a query gives.
  def sql(query)
    out, err, status = Open3.capture3(*PYTHON, SCRIPT, query)
    assert_predicate status, :success?, err
    JSON.parse(out)
  end
end
