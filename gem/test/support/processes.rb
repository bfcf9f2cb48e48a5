# frozen_string_literal: true

require "open3"
require "tmpdir"

# Runs other Ruby processes, with the agent injected and without.
module Processes
  CLEAN = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "POWERBAND_DIR" => nil, "POWERBAND_EXT" => nil,
            "POWERBAND_ENABLED" => nil, "POWERBAND_RING" => nil }.freeze

  module_function

  def injected(root)
    CLEAN.merge("RUBYLIB" => File.join(GEM_ROOT, "lib"), "RUBYOPT" => "-rpowerband/inject", "POWERBAND_DIR" => root)
  end

  def run_ruby(*arguments, env: {}, chdir: Dir.pwd)
    Open3.capture3(CLEAN.merge(env), RbConfig.ruby, *arguments, chdir:)
  end

  # Without a root the files of the agent go into a folder that is removed with them: the user root may make any other.
  def run_injected(*command, root: nil, env: {}, chdir: Dir.pwd)
    return Dir.mktmpdir { |folder| run_injected(*command, root: folder, env:, chdir:) } unless root

    Open3.capture3(injected(root).merge(env), *command, chdir:)
  end

  # What promtool finds wrong with metrics; nil where it is not installed.
  def promtool(text)
    output, = Open3.capture2e("promtool", "check", "metrics", stdin_data: text)
    output
  rescue Errno::ENOENT
    nil
  end
end
