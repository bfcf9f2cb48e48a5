# frozen_string_literal: true

require "open3"

# Prometheus' own check of what it would scrape.
module Promtool
  def assert_promtool(text)
    said, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: text)
    assert_equal ["", true], [said, status.success?]
  rescue Errno::ENOENT
    skip "promtool is not installed (Debian's package promtool)"
  end
end
