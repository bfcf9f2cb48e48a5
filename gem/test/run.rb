# frozen_string_literal: true

# Compiles the extension and runs every test of the agent:  ruby gem/test/run.rb [-n /name/] [minitest options]

require "open3"
require "rbconfig"

output, status = Open3.capture2e(RbConfig.ruby, File.expand_path("../ext/powerband/build.rb", __dir__))
abort output unless status.success?

$VERBOSE = true
$LOAD_PATH.unshift(__dir__, File.expand_path("../lib", __dir__))
Dir[File.join(__dir__, "*_test.rb")].sort.each { |file| require file }
