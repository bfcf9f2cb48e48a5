# frozen_string_literal: true

require "open3"
require "rbconfig"
require "tempfile"
require "timeout"
require_relative "tool"

module Powerband
  # The arm of an experiment in production for a Puma with `plugin :powerband`: Puma starts again with the environment that
  # `powerband run --experiment FILE` gives a command. An arm's variables have to be there before Ruby starts, and the program
  # alone draws and checks the file. That environment has no POWERBAND_EXPERIMENT: an arm is drawn once, and a Puma that
  # restarts itself keeps it.
  class PumaDraw
    # Why no arm is drawn.
    Impossible = Class.new(StandardError)

    VARIABLE = "POWERBAND_EXPERIMENT"
    # What Puma can start again by its arguments; `rails server` names its command instead.
    COMMANDS = %w[puma puma-wild].freeze
    REMEDY = "put `powerband run --` in front of the command"
    # Ruby changes the environment that it was started with, such as for Bundler.
    STARTED_WITH = 'File.binwrite(ARGV[0], File.binread("/proc/self/environ"))'
    # The longest draw, seconds: the agent may have to be compiled.
    PATIENCE = 120

    def initialize(launcher, file: ENV[VARIABLE].to_s, patience: PATIENCE)
      @launcher = launcher
      @file = file
      @patience = patience
    end

    # Returns if no arm is drawn: an experiment does not keep a server from starting.
    def become_an_arm
      return if @file.empty?

      refuse_what_is_lost
      exec(drawn, *@launcher.restart_args, chdir: @launcher.restart_dir, unsetenv_others: true)
    rescue StandardError => e
      e.message.each_line { |line| Powerband.say(line.chomp) }
      Powerband.say("#{VARIABLE}=#{@file}: no arm is drawn; Puma serves with the settings that it has, outside of the " \
                    "experiment")
    end

    private

    # What `exec` would lose.
    def refuse_what_is_lost
      binder = @launcher.binder
      raise Impossible, "a restart draws no arm: stop Puma and start it" if binder.inherited_fds.any?
      raise Impossible, "systemd gave Puma its sockets, which would be lost; #{REMEDY}" if binder.activated_sockets.any?
      return if @launcher.options[:restart_cmd] || COMMANDS.include?(File.basename($PROGRAM_NAME))

      raise Impossible, "#{$PROGRAM_NAME} started Puma, which does not know its arguments; #{REMEDY}"
    end

    # The arm's environment, from a Ruby that has started with it: after `exec`, a Puma whose Ruby does not start could not serve
    # without an arm.
    def drawn
      Tempfile.create("powerband-arm-") do |file|
        said = said_by(Tool.find, "run", "--experiment", @file, "--", RbConfig.ruby, "-e", STARTED_WITH, file.path)
        $stderr.write(said)
        file.binmode.read.split("\0").to_h { |pair| pair.split("=", 2) }
      end
    end

    # What the command prints. It ends with Puma, too: a signal to Puma's process group does not reach it.
    def said_by(*command)
      Open3.popen2e(*command, pgroup: true) do |input, output, thread|
        input.close
        said = Timeout.timeout(@patience) { output.read }.scrub
        raise Impossible, said.gsub(/^powerband: /, "") unless thread.value.success?

        said
      rescue Timeout::Error, SignalException => e
        Process.kill(:KILL, -thread.pid)
        raise e if e.is_a?(SignalException)

        raise Impossible, "the draw took longer than #{@patience} s"
      end
    end
  end
end
