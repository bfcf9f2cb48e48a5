# frozen_string_literal: true

require "mkmf"

# The GVL events came with Ruby 3.2, and the agent's clocks and locks are Linux's. Elsewhere the gem installs
# and does nothing (Powerband says so once), which is better than an application that cannot be bundled.
supported = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux") &&
            have_func("rb_internal_thread_add_event_hook", ["ruby/thread.h"])

if supported
  have_func("rb_internal_thread_specific_get", ["ruby/thread.h"])
  have_header("ruby/fiber/scheduler.h")
  have_func("rb_fiber_scheduler_current", ["ruby/fiber/scheduler.h"])
  append_cflags(["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"])
  $defs << "-D_GNU_SOURCE" # rubocop:disable Style/GlobalVars
  if ENV["POWERBAND_CFLAGS"] # as script/agent-memcheck has it compiled
    $CFLAGS << " #{ENV['POWERBAND_CFLAGS']}" # rubocop:disable Style/GlobalVars
    $DLDFLAGS << " #{ENV['POWERBAND_CFLAGS']}" # rubocop:disable Style/GlobalVars
  end
  # Where the agent and the command line tool look for the extension of this Ruby.
  create_makefile("powerband/ext/#{RbConfig::CONFIG['ruby_version']}-#{RbConfig::CONFIG['arch']}/powerband")
else
  File.write("Makefile", dummy_makefile($srcdir).join) # rubocop:disable Style/GlobalVars
end
