# frozen_string_literal: true

require "open3"

# A network namespace with an address and a loopback interface, as a pod has them. Nobody but this machine reaches it.
class Pod
  # Why there can be none here; nil where there can.
  def self.lacks
    return "network namespaces want root" unless Process.uid.zero?

    "ip is not installed: script/bootstrap installs it" unless File.executable?("/usr/sbin/ip")
  end

  attr_reader :address

  def initialize
    @name = "pod#{Process.pid}"
    net = "10.214.#{Process.pid % 256}"
    @node = "#{net}.1"
    @address = "#{net}.2"
  end

  # Why the kernel gives no namespace; nil where it does.
  def connect
    inside = ["ip", "-n", @name]
    [
      %W[ip netns add #{@name}],
      %W[ip link add #{@name}a type veth peer name #{@name}b netns #{@name}],
      %W[ip address add #{@node}/30 dev #{@name}a],
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

  # Before the words of a command that runs in the pod.
  def inside = ["ip", "netns", "exec", @name]

  def remove
    system("ip", "link", "delete", "#{@name}a", err: File::NULL)
    system("ip", "netns", "delete", @name, err: File::NULL)
  end
end
