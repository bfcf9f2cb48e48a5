# frozen_string_literal: true

# Oj as a drop-in: whoever says JSON from here on, `to_json` included, is served by Oj. Loaded before the application
# by the knob `require`.
require "json"
require "oj"
Oj.mimic_JSON
