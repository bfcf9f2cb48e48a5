# frozen_string_literal: true

# What script/release and script/licences share: commands, and the npm packages in the HTML pages.

require "json"
require "open3"

SCRIPT = File.basename($PROGRAM_NAME)
ROOT = File.expand_path("..", __dir__)
# Where script/bootstrap puts what is not installed.
ENV["PATH"] = "#{File.join(ENV.fetch('CARGO_TARGET_DIR', File.join(ROOT, 'target')), 'release-tools/bin')}:#{ENV.fetch('PATH')}"

# The output of a command that has to succeed.
def run(*command, chdir: ROOT, env: {})
  output, status = Open3.capture2(env, *command, chdir: chdir)
  status.success? ? output : abort("#{SCRIPT}: #{command.join(' ')} failed in #{chdir}")
rescue Errno::ENOENT => e
  abort("#{SCRIPT}: #{e.message}")
end

# `folder` is below web/.
NpmPackage = Struct.new(:folder, :name, :version, :licence)

# Those that the pages contain, by web/package-lock.json of a checkout.
def npm_packages(checkout)
  packages = JSON.parse(File.read(File.join(checkout, "web/package-lock.json"))).fetch("packages")
  packages.reject { |folder, package| folder.empty? || package["dev"] }.map do |folder, package|
    NpmPackage.new(folder, folder.rpartition("node_modules/").last, *package.values_at("version", "license"))
  end
end
