# frozen_string_literal: true

require "test_helper"
require "support/server_process"
require "powerband/tool"

# Where the executable of the gem finds the command line tool, and what it says where there is none.
class ToolTest < Minitest::Test
  include Processes

  EXECUTABLE = File.join(GEM_ROOT, "exe/powerband")

  def test_it_becomes_the_program_that_is_named_with_its_arguments_and_exit_code
    Dir.mktmpdir do |folder|
      out, err, status = run_executable({ "POWERBAND_BINARY" => program(folder) }, "tune", "a b")

      assert_equal ["tune|a b\n", "", 7], [out, err, status.exitstatus]
    end
  end

  def test_a_name_without_a_program_is_refused_with_the_remedy
    Dir.mktmpdir do |folder|
      out, err, status = run_executable({ "POWERBAND_BINARY" => folder })

      assert_equal ["", 1], [out, status.exitstatus]
      assert_equal "powerband: POWERBAND_BINARY = #{folder}: there is no program; name the file of the tool, or unset " \
                   "the variable\n", err
    end
  end

  def test_each_platform_has_its_remedy
    { "x86_64-linux" => /bundle lock --add-platform x86_64-linux.*BUNDLE_FORCE_RUBY_PLATFORM/,
      "aarch64-linux" => /bundle lock --add-platform aarch64-linux/,
      "riscv64-linux" => /no program for riscv64-linux, only for x86_64-linux and aarch64-linux.*make build/,
      "aarch64-darwin24" => /runs on Linux, and this is aarch64-darwin24/ }.each do |platform, remedy|
      missing = assert_raises(Powerband::Tool::Missing) { Powerband::Tool.find(env: {}, platform: platform) }

      assert_match remedy, missing.message
    end
  end

  def test_it_loads_nothing_of_the_agent
    loaded = 'require "powerband/tool"; print Powerband.constants, $LOADED_FEATURES.grep(/powerband/).size'
    out, = run_ruby("-I", File.join(GEM_ROOT, "lib"), "-e", loaded)

    assert_equal "[:Tool]1", out
  end

  private

  def run_executable(env, *words)
    run_ruby(EXECUTABLE, *words, env: env)
  end

  def program(folder)
    File.join(folder, "program").tap do |path|
      File.write(path, "#!/bin/sh\necho \"$1|$2\"\nexit 7\n", perm: 0o755)
    end
  end
end
