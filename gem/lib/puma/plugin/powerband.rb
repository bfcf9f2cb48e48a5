# frozen_string_literal: true

# `plugin :powerband` in config/puma.rb: the extension is loaded in Puma's master, before it forks, and every worker
# opens its flight file as it starts. With POWERBAND_EXPERIMENT, Puma first starts again with the settings of an arm.

require "puma/plugin"
require "powerband"
require "powerband/inject"

Puma::Plugin.create do
  # Before Puma binds, and before it loads an application that it loads itself.
  def start(launcher)
    require "powerband/puma_draw"
    Powerband::PumaDraw.new(launcher).become_an_arm
  end
end
