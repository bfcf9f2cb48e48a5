# frozen_string_literal: true

# For a process in which Sidekiq is embedded; one that is Sidekiq's own is recognised without this.

require_relative "../powerband"

Powerband::SidekiqHooks.install if defined?(Sidekiq)
