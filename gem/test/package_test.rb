# frozen_string_literal: true

require "test_helper"
require "support/server_process"

# The gem as a user gets it: built, installed into an empty GEM_HOME, compiled there.
class PackageTest < Minitest::Test
  include Processes

  def test_build_install_and_record
    Dir.mktmpdir do |folder|
      package = File.join(folder, "powerband.gem")
      out, err, status = run_ruby("-S", "gem", "build", "powerband.gemspec", "--output", package, chdir: GEM_ROOT)
      assert_predicate status, :success?, out + err

      home = File.join(folder, "home")
      install = ["-S", "gem", "install", "--local", "--no-document", "--install-dir", home, package]
      out, err, status = run_ruby(*install, chdir: folder)
      assert_predicate status, :success?, out + err
      assert_installed_gem_records(folder, home)
    end
  end

  def test_it_compiles_into_a_folder_that_is_named
    Dir.mktmpdir do |folder|
      out, err, status = run_ruby(File.join(GEM_ROOT, "ext/powerband/build.rb"), File.join(folder, "a b"))

      assert_equal ["#{folder}/a b/powerband.so\n", "", 0], [out, err, status.exitstatus]
      assert_equal ["powerband.so"], Dir.children(File.join(folder, "a b"))
    end
  end

  private

  def assert_installed_gem_records(folder, home)
    program = <<~RUBY
      require "powerband"
      Powerband::Recorder.start
      Powerband::Middleware.new(->(_) { [200, {}, []] }).call("PATH_INFO" => "/installed")
      print Gem.loaded_specs["powerband"].full_gem_path, " ", $LOADED_FEATURES.grep(/powerband\\.so/).join
    RUBY
    out, err, = run_ruby("-W", "-e", program, env: { "GEM_PATH" => home, "POWERBAND_DIR" => folder })

    assert_equal "", err
    out.split.each { |path| assert path.start_with?(home), path }
    assert_equal [[1, 29]], FlightReader.all(folder).map { |f| f.header.values_at(:written, :flags) }
  end
end
