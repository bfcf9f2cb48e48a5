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

  # `bundle binstubs powerband` makes bin/powerband, which starts the gem's executable again.
  def test_the_gem_in_vendor_gems_leaves_the_application_s_binstub_alone
    Dir.mktmpdir do |folder|
      out, err, status = run_ruby(copied_to("vendor/gems/powerband", folder))

      assert_equal ["", 1], [out, status.exitstatus]
      assert_match(/gem without a program|no program for|runs on Linux/, err)
    end
  end

  def test_the_gem_that_is_installed_with_the_program_finds_it_in_the_prefix
    Dir.mktmpdir do |folder|
      out, err, status = run_ruby(copied_to("share/powerband/gem", folder), "tune", "a b")

      assert_equal ["tune|a b\n", "", 7], [out, err, status.exitstatus]
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

  # The executable of a gem in a folder that has bin/powerband.
  def copied_to(gem, folder)
    program(FileUtils.mkdir_p(File.join(folder, "bin")).first, "powerband")
    { EXECUTABLE => "exe", File.join(GEM_ROOT, "lib/powerband/tool.rb") => "lib/powerband" }.each do |file, place|
      FileUtils.cp(file, FileUtils.mkdir_p(File.join(folder, gem, place)).first)
    end
    File.join(folder, gem, "exe/powerband")
  end

  def program(folder, name = "program")
    File.join(folder, name).tap do |path|
      File.write(path, "#!/bin/sh\necho \"$1|$2\"\nexit 7\n", perm: 0o755)
    end
  end
end
