# frozen_string_literal: true

require "test_helper"
require "support/server_process"
require "powerband/puma_draw"

# `plugin :powerband` with POWERBAND_EXPERIMENT: when Puma becomes the program that draws an arm, and when it serves without one.
# The tests in e2e have the real program.
class PumaDrawTest < Minitest::Test
  include Processes

  Launcher = Struct.new(:binder, :options, :restart_args, :restart_dir)
  Binder = Struct.new(:inherited_fds, :activated_sockets)

  # Starts the command as `run` does, and writes that it was asked.
  PROGRAM = <<~'SHELL'
    #!/bin/sh
    echo "$1 $2 $4" >>"$0.asked"
    echo "powerband: drawn" >&2
    ARM_OF=$3
    export ARM_OF
    unset POWERBAND_EXPERIMENT
    shift 4
    exec "$@"
  SHELL

  def test_puma_starts_again_once_with_the_arm_s_environment
    with_program(PROGRAM) do |folder, program|
      # Puma changes the command line of its process later.
      File.write(File.join(folder, "puma.rb"), <<~'RUBY')
        plugin :powerband
        if ENV.key?("ARM_OF")
          puts File.read("/proc/self/cmdline").split("\0"), ENV.fetch("ARM_OF"), ENV.fetch("POWERBAND_EXPERIMENT", "drawn")
          $stdout.flush
          exit!(0)
        end
      RUBY
      # Loaded only if Puma stays what it is.
      File.write(File.join(folder, "loaded.ru"), "exit!(9)\n")
      env = { "POWERBAND_EXPERIMENT" => "a b.toml", "POWERBAND_BINARY" => program }
      words = ["-C", "puma.rb", "-b", "tcp://127.0.0.1:0", "loaded.ru"]
      out, err, status = run_injected("puma", *words, chdir: folder, env: env)

      assert_predicate status, :success?, err
      assert_equal [*words, "a b.toml", "drawn"], out.lines(chomp: true).last(7)
      assert_equal ["run --experiment --\n", 1], [File.read("#{program}.asked"), err.scan("powerband: drawn").size]
    end
  end

  def test_what_the_program_refuses_is_said_and_puma_serves
    with_program("#!/bin/sh\necho 'powerband: a.toml: line 1: wrong' >&2\nexit 2\n") do |_, program|
      said = said_by(launcher, "a.toml", program:)

      assert_equal "powerband: a.toml: line 1: wrong\npowerband: POWERBAND_EXPERIMENT=a.toml: no arm is drawn; Puma serves " \
                   "with the settings that it has, outside of the experiment\n", said
    end
  end

  def test_a_draw_that_hangs_is_ended_and_puma_serves
    with_program("#!/bin/sh\necho $$ >\"$0.pid\"\nexec sleep 600\n") do |_, program|
      said = said_by(launcher, "hung.toml", program:, patience: 0.5)

      assert_match(/the draw took longer than 0.5 s\n.*no arm is drawn/, said)
      assert_raises(Errno::ESRCH) { Process.kill(0, Integer(File.read("#{program}.pid"))) }
    end
  end

  def test_a_program_that_is_not_there
    assert_match(%r{POWERBAND_BINARY = /none/x: there is no program.*\n.*b.toml: no arm is drawn},
                 said_by(launcher, "b.toml", program: "/none/x"))
  end

  # The program is not asked where its `exec` would lose sockets or arguments.
  def test_what_would_be_lost
    with_program("#!/bin/sh\ntouch \"$0.asked\"\n") do |_, program|
      { launcher(inherited: { "tcp://a" => 3 }) => /a restart draws no arm: stop Puma and start it/,
        launcher(activated: { [:tcp] => 3 }) => /systemd gave Puma its sockets.*`powerband run --` in front/,
        launcher(restart_cmd: nil) => /does not know its arguments/ }.each do |launcher, reason|
        said = said_by(launcher, "#{reason.hash}.toml", program:)

        assert_match(/#{reason}.*\n.*no arm is drawn/, said)
      end
      refute_path_exists "#{program}.asked"
    end
  end

  def test_nothing_is_asked_without_an_experiment
    assert_equal "", said_by(launcher, "", program: "/none/x")
  end

  private

  # One that could start again.
  def launcher(inherited: {}, activated: {}, restart_cmd: "bin/rails server")
    Launcher.new(Binder.new(inherited, activated), { restart_cmd: restart_cmd }, ["false"], Dir.pwd)
  end

  def said_by(launcher, file, program:, **)
    before = ENV.fetch("POWERBAND_BINARY", nil)
    ENV["POWERBAND_BINARY"] = program
    _, err = capture_io { Powerband::PumaDraw.new(launcher, file: file, **).become_an_arm }
    err
  ensure
    ENV["POWERBAND_BINARY"] = before
  end

  def with_program(text)
    Dir.mktmpdir do |folder|
      program = File.join(folder, "program")
      File.write(program, text, perm: 0o755)
      yield folder, program
    end
  end
end
