# What Rails 7.2 generates: one process of three threads unless the environment says otherwise.
threads_count = ENV.fetch("RAILS_MAX_THREADS", 3)
threads threads_count, threads_count

# WEB_CONCURRENCY is read by Puma itself: so many workers, preloaded.

port ENV.fetch("PORT", 3000)

# Lets `bin/rails restart` restart Puma.
plugin :tmp_restart

pidfile ENV["PIDFILE"] if ENV["PIDFILE"]
