# frozen_string_literal: true

require "etc"
require "open3"
require "socket"
require "tmpdir"

# A PostgreSQL that is on another machine as far as anything here can tell: in a network namespace of the test's own, at an
# address of its own. Nothing of it can be reached from anywhere else.
class OtherMachine
  PORT = 5432
  BIN = Dir["/usr/lib/postgresql/*/bin"].max_by { |path| path[%r{/(\d+)/bin\z}, 1].to_i }

  # Why there can be none here; nil where there can.
  def self.lacks
    return "network namespaces want root" unless Process.uid.zero?
    return "ip is not installed: script/bootstrap installs it" unless File.executable?("/usr/sbin/ip")
    return "PostgreSQL is not installed: script/bootstrap installs it" unless BIN

    require "pg"
    nil
  rescue LoadError
    "the gem pg is not installed: script/bootstrap installs it"
  end

  attr_reader :address

  def initialize
    @name = "pb#{Process.pid}"
    @net = "10.213.#{Process.pid % 256}"
    @address = "#{@net}.2"
    @folder = Dir.mktmpdir("powerband-e2e-pg-")
    FileUtils.chown(user, nil, @folder)
  end

  # Why the kernel gives no namespace; nil where it does.
  def connect
    inside = ["ip", "-n", @name]
    [
      %W[ip netns add #{@name}],
      %W[ip link add #{@name}a type veth peer name #{@name}b netns #{@name}],
      %W[ip address add #{@net}.1/30 dev #{@name}a],
      %W[ip link set #{@name}a up],
      [*inside, "address", "add", "#{address}/30", "dev", "#{@name}b"],
      [*inside, "link", "set", "lo", "up"],
      [*inside, "link", "set", "#{@name}b", "up"]
    ].each do |words|
      said, status = Open3.capture2e(*words)
      return "#{words.join(' ')}: #{said.strip}" unless status.success?
    end
    nil
  end

  # The words that make its files, and those that start it in the foreground.
  def make = [*as_user, "#{BIN}/initdb", "--pgdata=#{data}", "--username=shop", "--auth=trust", "--no-sync", "--no-locale"]

  def serve
    File.write("#{data}/pg_hba.conf", "host all all #{@net}.0/30 trust\n")
    ["ip", "netns", "exec", @name, *as_user, "#{BIN}/postgres", "-D", data, "-F", "-p", PORT.to_s,
     "-c", "listen_addresses=#{address}", "-c", "unix_socket_directories="]
  end

  def answers?
    TCPSocket.new(address, PORT, connect_timeout: 1).close
    true
  rescue SystemCallError
    false
  end

  def remove
    system("ip", "link", "delete", "#{@name}a", err: File::NULL)
    system("ip", "netns", "delete", @name, err: File::NULL)
    FileUtils.remove_entry(@folder)
  end

  private

  def data = File.join(@folder, "data")

  # It refuses to run as root.
  def user
    @user ||= %w[postgres nobody].find { |name| Etc.getpwnam(name) rescue nil } # rubocop:disable Style/RescueModifier
  end

  def as_user = ["setpriv", "--reuid=#{user}", "--regid=#{Etc.getpwnam(user).gid}", "--clear-groups"]
end
