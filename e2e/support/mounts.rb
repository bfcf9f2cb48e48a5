# frozen_string_literal: true

require "shellwords"

# Lines of a shell script that make the file system of a container in a separate mount namespace.
module Mounts
  PROGRAMS = %w[/bin /lib /lib64 /sbin /usr].freeze

  module_function

  # A new root in an empty folder, with the programs and libraries of this machine.
  def root(folder)
    programs = PROGRAMS.select { |path| File.exist?(path) }.flat_map { |path| program(folder, path) }
    ["mount -t tmpfs -o mode=755 tmpfs #{folder}", *programs]
  end

  # A folder or file of this machine at another place; mode: ro or rw.
  def bind(here, there, mode)
    here, there, above = [here, there, File.dirname(there)].map(&:shellescape)
    target = File.directory?(here) ? "mkdir -p #{there}" : "mkdir -p #{above}\ntouch #{there}"
    [target, "mount --bind #{here} #{there}", "mount -o remount,bind,#{mode} #{there}"]
  end

  def program(folder, path)
    return bind(path, "#{folder}#{path}", "ro") unless File.symlink?(path)

    "ln -s #{File.readlink(path)} #{folder}#{path}"
  end
end
