# frozen_string_literal: true

require "fileutils"
require "minitest"
require "open3"
require "tmpdir"

# script/bootstrap on a pretended Debian 12 whose Ruby is too old: it sees only the programs that a test puts on PATH, and
# `apt-get` and all that writes are stand-ins that log their arguments.
class BootstrapTest < Minitest::Test
  parallelize_me!

  SCRIPT = File.expand_path("../script/bootstrap", __dir__)
  READS = %w[awk bash cat dirname env grep head mktemp readlink sed sort tail tr].freeze
  LOGGED = %w[apt-get apt-cache dpkg dpkg-query install rm tee update-rc.d].freeze

  def setup
    @dir = Dir.mktmpdir("powerband-bootstrap-")
    READS.each { |name| File.symlink(find(name), File.join(@dir, name)) }
    script("sudo", %("$@"))
    LOGGED.each { |name| script(name, %(echo "#{name} $*" >>"#{log}"; exit #{name == 'dpkg' ? 1 : 0})) }
    %w[cargo cc make git].each { |name| script(name, "exit 0") }
  end

  def teardown
    FileUtils.rm_rf(@dir)
  end

  def test_a_program_that_works_is_not_replaced
    %w[python3 openssl memcached valgrind].each { |name| script(name, "exit 0") }
    packages = installed
    assert_includes packages, "ruby"
    assert_includes packages, "redmine"
    assert_includes packages, "promtool"
    assert_empty packages & %w[python3 openssl memcached valgrind git build-essential ca-certificates]
  end

  def test_what_is_missing_is_installed
    packages = installed
    assert_empty %w[python3 memcached valgrind] - packages - already_outside_the_path
    FileUtils.rm(File.join(@dir, "cc"))
    assert_includes installed, "build-essential"
  end

  def test_the_demo_takes_ruby_and_its_gems_alone
    assert_equal %w[puma ruby ruby-dev ruby-minitest ruby-rails ruby-sqlite3], installed("demo").sort
  end

  def test_an_apache_of_another_release_is_not_replaced_for_passenger
    apache("2.4.71-1~deb12u1")
    packages = installed
    refute_includes packages, "libapache2-mod-passenger"
    assert_includes packages, "unicorn"
    assert_empty(File.readlines(log).grep(/apt-get install.*(apache2|downgrade)/))
  end

  def test_passenger_is_installed_with_debian_13s_apache
    apache("2.4.71-1~deb13u1")
    assert_includes installed, "libapache2-mod-passenger"
  end

  private

  # Apache is installed in this version, and Debian 13 offers another or the same.
  def apache(version)
    script("apache2", "exit 0")
    script("dpkg-query", %([[ ${@: -1} == apache2-bin ]] || exit 1; [[ $* == *Status* ]] && echo installed || echo "#{version}"))
    script("apt-cache", "echo 'apache2-bin | 2.4.71-1~deb13u1 | mirror trixie/main amd64 Packages'")
  end

  def find(name)
    ENV.fetch("PATH").split(":").map { |folder| File.join(folder, name) }.find { |path| File.executable?(path) }
  end

  def log
    File.join(@dir, "log")
  end

  def script(name, body)
    path = File.join(@dir, name)
    File.write(path, "#!#{File.join(@dir, 'bash')}\n#{body}\n")
    File.chmod(0o755, path)
  end

  # Daemons in /usr/sbin are found although they are not on PATH.
  def already_outside_the_path
    %w[python3 memcached valgrind].select { |name| File.executable?("/usr/sbin/#{name}") }
  end

  # The packages that it would install: none of them is, so it ends with 3.
  def installed(purpose = "test")
    FileUtils.rm_f(log)
    env = { "PATH" => @dir, "HOME" => @dir, "TMPDIR" => @dir }
    output, status = Open3.capture2e(env, File.join(@dir, "bash"), SCRIPT, purpose, unsetenv_others: true, stdin_data: "")
    assert_equal 3, status.exitstatus, output
    line = File.readlines(log, chomp: true).find { |logged| logged.start_with?("apt-get install") }
    refute_nil line, output
    line.split.drop(2).grep_v(/\A-|\Atrixie\z/)
  end
end
