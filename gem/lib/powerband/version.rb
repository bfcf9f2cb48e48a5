# frozen_string_literal: true

module Powerband
  VERSION = "0.2.0"
end
