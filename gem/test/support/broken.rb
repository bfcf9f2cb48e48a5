# frozen_string_literal: true

# Loaded into a server: makes the methods that BROKEN names raise, as "Recorder.settings" or "Retention#sweep".

require "powerband/inject"
require "powerband"

ENV.fetch("BROKEN").split(",").each do |name|
  owner, kind, method = name.match(/(\w+)([.#])(\w+\??)/).captures
  owner = Powerband.const_get(owner)
  owner = owner.singleton_class if kind == "."
  $VERBOSE = nil
  owner.define_method(method) { |*| raise TypeError, "#{name} broke on purpose" }
end
