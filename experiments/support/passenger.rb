# frozen_string_literal: true

# Whether Passenger can start on this machine at all. Where no file says that it is in a container, its watchdog reads the
# first process's environment, and aborts when that is denied, as in a chroot.
module Passenger
  CONTAINER = %w[/.dockerenv /run/systemd/container].freeze

  # Why not; nil where it can.
  def self.forbidden
    return if CONTAINER.any? { |path| File.exist?(path) }

    File.binread("/proc/1/environ")
    nil
  rescue SystemCallError => e
    "Passenger's watchdog does not start here: it reads /proc/1/environ (#{e.class})"
  end
end
