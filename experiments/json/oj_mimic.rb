# frozen_string_literal: true

# Oj as a drop-in: from here on JSON and `to_json` use Oj. Loaded before the application
# by the knob `require`.
require "json"
require "oj"
Oj.mimic_JSON
