# frozen_string_literal: true

# Keeps objects in each way that a search for a leak must distinguish: what /leak and /numbers keep grows for ever, the rest
# does not.
require_relative "../work"

# The application with its constants.
module Keeping
  SEEN = [] # rubocop:disable Style/MutableConstant
  @numbers = Array.new(100)
  @latest = []
  @pages = {}

  def self.call(env)
    case env["PATH_INFO"]
    when "/leak" then SEEN << { path: env["PATH_INFO"].upcase }
    when "/numbers" then @numbers << @numbers.size
    when "/latest" then @latest = [*@latest.last(19), env["PATH_INFO"].dup]
    when "/pages" then @pages[@pages.size % 30] ||= env["PATH_INFO"].dup
    end
    Work.answer
  end
end

run Keeping
