# frozen_string_literal: true

module Powerband
  VERSION = "0.1.0"
end
