# frozen_string_literal: true

require "fileutils"
require "open3"
require "securerandom"
require "shellwords"
require_relative "container"

# A systemd of the test's own: process 1 of separate namespaces and of a separate control group. It has the units that it is given
# and no other ones, and it cannot write to the kernel's settings, load modules or set clocks.
class Systemd
  PROGRAM = "/usr/lib/systemd/systemd"
  UNITS = "/etc/systemd/system"
  # What services and sockets depend on, from systemd's own files.
  TARGETS = %w[sysinit basic sockets network-online multi-user shutdown]
            .map { |name| "/usr/lib/systemd/system/#{name}.target" }.freeze
  FOLDERS = %W[/etc #{UNITS} /proc /sys /dev /run /tmp /var/lib /var/tmp /root /old].freeze
  SETTINGS = %w[/etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache].freeze
  DEVICES = %w[null zero full random urandom tty].freeze
  MARK = LeftRunning::VARIABLE
  VARIABLES = { "container" => "e2e", "PATH" => "/usr/bin:/usr/sbin", "SYSTEMD_UNIT_PATH" => UNITS,
                "SYSTEMD_GENERATOR_PATH" => "/run/none" }.freeze
  FORBIDDEN = %w[net_admin sys_boot sys_module sys_rawio sys_time syslog].freeze

  # Why there can be none here; nil where there can.
  def self.lacks
    return Container.lacks if Container.lacks
    return "systemd is not installed: it is in Debian's package systemd" unless File.executable?(PROGRAM)

    "no control groups of version 2 are mounted" unless groups
  end

  # Where control groups of version 2 can be made.
  def self.groups
    mount = File.readlines("/proc/self/mounts").map(&:split).find { |words| words[2] == "cgroup2" }
    mount[1] if mount && File.writable?("#{mount[1]}/cgroup.procs")
  end

  # `root`: an empty folder. `files`: by their paths in it, folders and files of this machine with ro or rw.
  def initialize(root, units:, files: {})
    @root = root
    @units = units
    @files = files
    @group = "#{self.class.groups}/powerband-e2e-#{SecureRandom.hex(4)}"
    FileUtils.mkdir(@group)
  end

  # The words that start it; those given come before what makes the namespaces.
  def command(before)
    namespaces = %w[--mount --pid --uts --ipc --cgroup --fork --kill-child]
    join = ["sh", "-c", "echo $$ > #{@group}/cgroup.procs && exec \"$@\"", "sh"]
    [*join, *before, "unshare", *namespaces, "sh", "-e", "-c", script]
  end

  # Before the words of a command inside; nil until systemd runs: a command would reach this machine's systemd before.
  def self.inside(started)
    process = Container.process(started)
    ["nsenter", "--all", "--target", process.to_s] if process && File.read("/proc/#{process}/comm") == "systemd\n"
  end

  # Once the last of its processes has ended; false before.
  def removed?
    Dir.glob("#{@group}/**/").sort.reverse_each { |folder| Dir.rmdir(folder) }
    true
  rescue Errno::EBUSY
    false
  end

  private

  def script
    [
      *Mounts.root(@root),
      "mkdir -p #{FOLDERS.map { |path| @root + path }.join(' ')}",
      "mount -t tmpfs tmpfs #{@root}/usr/local/bin",
      "cp #{[*@units, *TARGETS].shelljoin} #{@root}#{UNITS}",
      "cp #{SETTINGS.select { |path| File.exist?(path) }.shelljoin} #{@root}/etc",
      "echo #{SecureRandom.hex} > #{@root}/etc/machine-id",
      *@files.flat_map { |path, (here, mode)| Mounts.bind(here, @root + path, mode) },
      *kernel,
      "cd #{@root}",
      "pivot_root . old",
      "umount --lazy /old",
      "exec env -i #{VARIABLES.map { |pair| pair.join('=') }.join(' ')} #{MARK}=\"$#{MARK}\" " \
      "setpriv --bounding-set -#{FORBIDDEN.join(',-')} #{PROGRAM} --system --unit=multi-user.target"
    ].join("\n")
  end

  # What the kernel shows and takes. Its settings are those of this machine, and cannot be written to.
  def kernel
    [
      "mount -t proc proc #{@root}/proc",
      "mount --bind #{@root}/proc/sys #{@root}/proc/sys",
      "mount -o remount,bind,ro #{@root}/proc/sys",
      "mount -t tmpfs tmpfs #{@root}/sys",
      "mkdir -p #{@root}/sys/fs/cgroup",
      "mount -t cgroup2 cgroup2 #{@root}/sys/fs/cgroup",
      "mount -t tmpfs -o mode=755 tmpfs #{@root}/dev",
      *DEVICES.flat_map { |name| Mounts.bind("/dev/#{name}", "#{@root}/dev/#{name}", "rw") },
      "mkdir #{@root}/dev/shm #{@root}/dev/pts",
      "ln -s pts/ptmx #{@root}/dev/ptmx",
      "mount -t tmpfs -o mode=755 tmpfs #{@root}/run"
    ]
  end
end
