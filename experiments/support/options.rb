# frozen_string_literal: true

require "fileutils"
require "optparse"
require_relative "binary"

# The command line of an experiment that is a script.
module Options
  # Whether this is a rehearsal, and the file of the table. An interrupted script ends with 130 and runs its `ensure`.
  def self.parsed(dir)
    %w[INT TERM].each { |signal| trap(signal) { exit 130 } }
    rehearse = false
    page = nil
    OptionParser.new do |options|
      options.on("--rehearse") { rehearse = true }
      options.on("--markdown FILE") { |file| page = File.expand_path(file, Dir.pwd) }
    end.parse!
    FileUtils.mkdir_p(MADE)
    [rehearse, page || (rehearse ? "#{MADE}/#{File.basename(dir)}.md" : "#{dir}/TABLE.md")]
  end
end
