# frozen_string_literal: true

require "open3"
require "rbconfig"
require_relative "tool"

module Powerband
  # The arm of an experiment in production for a Puma with `plugin :powerband`: the process becomes
  # `powerband run --experiment FILE -- COMMAND`, where COMMAND starts this Puma again. An arm's variables have to be there
  # before Ruby starts, and the program alone draws and checks the file. The new process has no POWERBAND_EXPERIMENT: an arm is
  # drawn once, and a Puma that restarts itself keeps it.
  class PumaDraw
    # Why no arm is drawn.
    Impossible = Class.new(StandardError)

    VARIABLE = "POWERBAND_EXPERIMENT"
    # What Puma can start again by its arguments; `rails server` names its command instead.
    COMMANDS = %w[puma puma-wild].freeze
    REMEDY = "put `powerband run --` in front of the command"

    def initialize(launcher, file: ENV[VARIABLE].to_s)
      @launcher = launcher
      @file = file
    end

    # Returns if no arm is drawn: an experiment does not keep a server from starting.
    def become_an_arm
      return if @file.empty?

      refuse_what_is_lost
      run = [Tool.find, "run", "--experiment", @file, "--"]
      try(run)
      exec({ VARIABLE => nil }, *run, *@launcher.restart_args, chdir: @launcher.restart_dir)
    rescue StandardError => e
      e.message.each_line { |line| Powerband.say(line.chomp) }
      Powerband.say("#{VARIABLE}=#{@file}: no arm is drawn; Puma serves with the settings that it has, outside of the " \
                    "experiment")
    end

    private

    # What `exec` would lose.
    def refuse_what_is_lost
      binder = @launcher.binder
      raise Impossible, "a restart does not draw: stop Puma and start it" if binder.inherited_fds.any?
      raise Impossible, "systemd gave Puma its sockets, which would be lost; #{REMEDY}" if binder.activated_sockets.any?
      return if @launcher.options[:restart_cmd] || COMMANDS.include?(File.basename($PROGRAM_NAME))

      raise Impossible, "#{$PROGRAM_NAME} starts Puma without its arguments, which would be lost; #{REMEDY}"
    end

    # After `exec` nobody could serve without an arm. So all of it is tried before: the file, the agent, a Ruby with the arm.
    def try(run)
      said, status = Open3.capture2e(*run, RbConfig.ruby, "-e", "", stdin_data: "")
      raise Impossible, said.scrub.gsub(/^powerband: /, "") unless status.success?
    end
  end
end
