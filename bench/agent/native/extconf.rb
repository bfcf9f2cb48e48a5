# frozen_string_literal: true

require "mkmf"
$CFLAGS << " -O2 -Wall" # rubocop:disable Style/GlobalVars
have_func("rb_internal_thread_specific_get", "ruby/thread.h")
create_makefile("agent_bench")
