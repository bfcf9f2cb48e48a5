# frozen_string_literal: true

# Compiles the extension and runs every test of the agent:  ruby gem/test/run.rb [-n /name/] [minitest options]

require "open3"
require "rbconfig"

output, status = Open3.capture2e(RbConfig.ruby, File.expand_path("../ext/powerband/build.rb", __dir__))
abort output unless status.success?

$VERBOSE = true
$LOAD_PATH.unshift(__dir__, File.expand_path("../lib", __dir__))
# A Ruby of one's own has the gems that one put there; where script/bootstrap installs Ruby it installs them all.
own = !RbConfig.ruby.start_with?("/usr/bin/")
Dir[File.join(__dir__, "*_test.rb")].sort.each do |file|
  require file
rescue LoadError => e
  raise unless own && e.path && !e.path.start_with?("powerband", "support", "/")

  warn "left out: #{File.basename(file)}, because there is no #{e.path}"
end
