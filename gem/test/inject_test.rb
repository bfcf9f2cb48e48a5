# frozen_string_literal: true

require "test_helper"
require "support/processes"

# RUBYOPT reaches every Ruby process below the one that was meant: it must change nothing there.
class InjectTest < Minitest::Test
  include Processes

  def test_it_is_silent_and_loads_nothing_in_any_other_process
    Dir.mktmpdir do |root|
      program = "print [Powerband.constants.sort, $LOADED_FEATURES.grep(/powerband/).size, defined?(Puma)].inspect"
      [[], ["-W"], ["-W", "--disable-gems"]].each do |flags|
        out, err, status = run_injected(RbConfig.ruby, *flags, "-e", program, root:)
        assert_equal ["[[:Inject], 1, nil]", "", 0], [out, err, status.exitstatus], flags.inspect
      end
      assert_empty Dir.children(root)
    end
  end

  def test_puma_as_a_library_alone_loads_nothing
    program = 'require "puma"; print Powerband.constants.inspect, Puma.autoload?(:Server).nil?'
    out, err, = run_injected(RbConfig.ruby, "-W0", "-e", program)

    assert_equal ["[:Inject]false", ""], [out, err]
  end

  def test_puma_that_is_already_there_is_hooked
    program = 'require "puma"; Puma::Server; require "powerband/inject"; print Puma::Server.ancestors.first(2).inspect'
    out, err, = run_ruby("-I#{GEM_ROOT}/lib", "-e", program)

    assert_equal ["[Powerband::PumaHooks::Server, Puma::Server]", ""], [out, err]
  end

  # As an application that names the gem, and whose Rails brings Zeitwerk 2.7 or newer.
  def test_a_public_const_added_of_others_hinders_nothing
    program = <<~RUBY
      Module.prepend(Module.new { def const_added(*) = super })
      require "powerband/inject"
      require "puma"
      Puma::Server
      print Puma::Server.ancestors.first(2).inspect
    RUBY
    out, err, = run_ruby("-I#{GEM_ROOT}/lib", "-e", program)

    assert_equal ["[Powerband::PumaHooks::Server, Puma::Server]", ""], [out, err]
  end

  def test_foreign_constants_of_those_names_are_left_alone
    program = <<~RUBY
      class Server; end
      module Mine; class Server; end; class Cluster; class Worker; end; end; class Puma; end; class HttpServer; end; end
      Module.new { const_set(:Puma, Class.new { const_set(:Server, Class.new) }) }
      print ObjectSpace.each_object(Class).grep(Class).none? { |c| c.name.to_s.match?(/Server|Worker/) && c.ancestors.to_s.include?("Powerband") }
    RUBY
    out, err, = run_injected(RbConfig.ruby, "-W", "-e", program)

    assert_equal ["true", ""], [out, err]
  end

  def test_const_added_of_others_still_runs
    program = <<~RUBY
      def Object.const_added(name) = (print(name, " ") if name == :Puma || name == :Fresh; super)
      module Puma; end
      Fresh = 1
    RUBY
    out, err, = run_injected(RbConfig.ruby, "-W", "-e", program)

    assert_equal ["Puma Fresh ", ""], [out, err]
  end

  def test_switched_off
    program = 'require "puma"; Puma::Server; print Puma::Server.ancestors.first.inspect'
    out, err, = run_injected(RbConfig.ruby, "-e", program, env: { "POWERBAND_ENABLED" => "0" })

    assert_equal ["Puma::Server", ""], [out, err]
  end

  def test_an_extension_that_does_not_load_is_said_once_and_hurts_nothing
    Dir.mktmpdir do |folder|
      bad = File.join(folder, "powerband.so")
      File.write(bad, "not an extension")
      program = 'require "puma"; Puma::Server; require "puma/cluster"; print Puma::Server.ancestors.first.inspect'
      out, err, status = run_injected(RbConfig.ruby, "-e", program, env: { "POWERBAND_EXT" => bad })

      assert_equal ["Puma::Server", 0], [out, status.exitstatus]
      assert_equal 1, err.scan("does nothing here").size, err
      assert_match(/build\.rb/, err)
    end
  end

  def test_a_library_that_cannot_be_loaded_is_said_and_hurts_nothing
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p(File.join(folder, "powerband"))
      FileUtils.cp(File.join(GEM_ROOT, "lib/powerband/inject.rb"), File.join(folder, "powerband"))
      out, err, status = run_injected(RbConfig.ruby, "-e", 'require "puma"; Puma::Server; print 1', env: { "RUBYLIB" => folder })

      assert_equal ["1", 0], [out, status.exitstatus]
      assert_match(/\Apowerband: cannot hook into Puma::Server: LoadError: /, err)
    end
  end

  # Every one of them has something to say: a setting, an extension, a folder, a library.
  def test_nothing_fails_where_standard_error_cannot_be_written
    program = <<~RUBY
      reader, writer = IO.pipe
      reader.close
      ARGV.first == "closed" ? $stderr.close : $stderr.reopen(writer)
      require "puma"; Puma::Server
      require "powerband"
      Powerband.fault("on purpose", RuntimeError.new("x"))
      print Powerband::Middleware.new(->(_) { [204, {}, []] }).call({}).first
    RUBY
    [{ "POWERBAND_RING" => "7" }, { "POWERBAND_EXT" => __FILE__ }, { "POWERBAND_DIR" => "/proc/nowhere" }].each do |env|
      %w[closed unread].each do |state|
        out, _, status = run_injected(RbConfig.ruby, "-e", program, state, env:)

        assert_equal ["204", 0], [out, status.exitstatus], [env, state].inspect
      end
    end
  end

  def test_an_older_ruby_is_told_once_and_serves_on
    program = <<~RUBY
      Object.send(:remove_const, :RUBY_VERSION)
      RUBY_VERSION = "3.1.2"
      2.times { require "powerband"; load "powerband.rb" }
      print Powerband::Middleware.new(->(_) { [204, {}, []] }).call({}).first, Powerband::Native.available?
    RUBY
    out, err, = run_ruby("-W", "-I#{GEM_ROOT}/lib", "-e", program)

    assert_equal "204false", out
    assert_equal "powerband: does nothing here: Ruby 3.1.2 (ruby) has no GVL events, which came with CRuby 3.2\n", err
  end

  def test_settings_that_cannot_be_used_are_said_once
    program = 'require "puma"; Puma::Server; require "puma/cluster"; print 1'
    out, err, = run_injected(RbConfig.ruby, "-e", program, env: { "POWERBAND_RING" => "1000" })

    assert_equal ["1", "powerband: POWERBAND_RING=1000: it must be a power of two from 64 to 1048576; using 16384\n"],
                 [out, err]
  end

  # There are eight keys for all the tools in a process, and Ruby hands out a ninth that is out of bounds.
  def test_without_a_free_key_requests_are_recorded_without_the_split
    Dir.mktmpdir do |folder|
      write_key_thief(folder)
      program = <<~RUBY
        require #{File.join(folder, 'thief').inspect}
        require "powerband"
        Powerband::Recorder.start
        Powerband::Middleware.new(->(_) { sleep 0.01; [200, {}, []] }).call("PATH_INFO" => "/")
      RUBY
      _, err, status = run_ruby("-I#{GEM_ROOT}/lib", "-e", program, env: { "POWERBAND_DIR" => folder })
      assert_equal ["", 0], [err, status.exitstatus]
      flight = FlightReader.all(folder).first

      assert_equal [28, 1, 2], flight.header.values_at(:flags, :written, :state)
      assert_equal [0, 0, 0], flight.records.first.values_at(:held_ns, :gvl_wait_ns, :io_ns)
      measured = flight.fields.select { |f| f.flags == 1 }.map(&:name)
      assert_includes measured, "wall_ns"
      %w[held_ns gvl_wait_ns io_ns allocations yields].each { |name| refute_includes measured, name }

      _, err, status = run_ruby("-W0", "-I#{GEM_ROOT}/lib", "-e", program,
                                env: { "POWERBAND_DIR" => folder, "RUBY_MN_THREADS" => "1" })
      assert_equal 0, status.exitstatus
      assert_match(/nothing is recorded.*RUBY_MN_THREADS is on/, err)
      assert_equal 1, FlightReader.all(folder).size
    end
  end

  private

  # An extension that takes all eight keys.
  def write_key_thief(folder)
    File.write(File.join(folder, "thief.c"), <<~C)
      #include <ruby.h>
      #include <ruby/thread.h>
      void Init_thief(void) { for (int i = 0; i < 8; i++) rb_internal_thread_specific_key_create(); }
    C
    File.write(File.join(folder, "extconf.rb"), 'require "mkmf"; create_makefile("thief")')
    _, err, status = run_ruby("extconf.rb", chdir: folder)
    assert_predicate status, :success?, err
    assert system("make", chdir: folder, out: File::NULL), "make"
  end
end
