# frozen_string_literal: true

# `plugin :powerband` in config/puma.rb: the extension is loaded in Puma's master, before it forks, and every worker
# opens its flight file as it starts.

require "puma/plugin"
require "powerband"
require "powerband/inject"

Puma::Plugin.create {}
