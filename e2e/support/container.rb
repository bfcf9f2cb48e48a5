# frozen_string_literal: true

require "open3"
require "tmpdir"
require_relative "mounts"
require_relative "powerband"

# A container as the manifests of docs/kubernetes.md describe it: mount and PID namespaces, a read-only root,
# volumes, and a user without capabilities. It has the programs and libraries of this machine, the mirror and the gem.
class Container
  # Laid out as `make install` does.
  BINARY = "/powerband/bin/powerband"
  APPS = "/apps"
  READABLE = { "/etc" => "/etc", BINARY => PowerbandTest::BINARY, APPS => PowerbandTest::APPS,
               "/powerband/share/powerband/gem" => File.join(PowerbandTest::ROOT, "gem") }.freeze
  ID = 10_001

  # Why there can be none here; nil where there can.
  def self.lacks
    return "mount and PID namespaces want root" unless Process.uid.zero?

    @lacks ||= Dir.mktmpdir do |root|
      said, status = Open3.capture2e(*new(root).inside, BINARY, "--version")
      status.success? ? "" : "no container with mount and PID namespaces (unshare, setpriv): #{said.strip}"
    end
    @lacks unless @lacks.empty?
  end

  # `root`: an empty folder. `volumes`: folders of this machine by their paths in the container. `hosts`: names of 127.0.0.1.
  def initialize(root, volumes: {}, hosts: [])
    @root = root
    @volumes = volumes
    @hosts = hosts
  end

  # Before the words of a command that becomes process 1 in the container.
  def inside(chdir: "/")
    ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", script(chdir), "sh"]
  end

  # The command's process of this machine, as which it can be signalled. The started process is its parent, which ignores SIGTERM.
  def self.process(started)
    Dir.glob("/proc/[0-9]*/stat").filter_map do |path|
      pid, rest = File.read(path).then { |stat| [stat.to_i, stat.rpartition(")").last] }
      pid if rest.split[1].to_i == started.pid
    rescue SystemCallError
      nil # it ended
    end.first
  end

  private

  def script(chdir)
    [
      *Mounts.root(@root),
      *READABLE.flat_map { |there, here| Mounts.bind(here, "#{@root}#{there}", "ro") },
      *named_hosts,
      *@volumes.flat_map { |there, here| Mounts.bind(here, "#{@root}#{there}", "rw") },
      "mkdir #{@root}/proc #{@root}/dev",
      "mount -t proc proc #{@root}/proc",
      "mount --rbind /dev #{@root}/dev",
      "mount -o remount,ro #{@root}",
      "exec chroot #{@root} #{user} env --chdir=#{chdir} PWD=#{chdir} HOME=/ \"$@\""
    ].join("\n")
  end

  def user
    "setpriv --reuid #{ID} --regid #{ID} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all --pdeathsig keep"
  end

  def named_hosts
    return [] if @hosts.empty?

    file = "#{@root}/hosts"
    ["echo 127.0.0.1 localhost #{@hosts.join(' ')} > #{file}", "mount --bind #{file} #{@root}/etc/hosts"]
  end
end
