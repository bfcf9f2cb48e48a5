# frozen_string_literal: true

# Keeps objects in each way that a search for a leak must distinguish: what /leak, /paths and /numbers keep grows for ever, the
# rest does not.
require "objspace"
require_relative "../work"

# The application with its constants.
module Keeping
  SEEN = [] # rubocop:disable Style/MutableConstant
  PATHS = [] # rubocop:disable Style/MutableConstant
  @numbers = Array.new(100)
  @latest = []
  @pages = {}
  @seen_at = Array.new(10_000) { |id| [id, nil] }.to_h
  @ids = Random.new(1)

  def self.call(env)
    case env["PATH_INFO"]
    when "/leak" then SEEN << { path: env["PATH_INFO"].upcase }
    # Of the server's making, before the call.
    when "/paths" then PATHS << env["PATH_INFO"]
    when "/numbers" then @numbers << @numbers.size
    when "/latest" then @latest.push(+"latest").shift(@latest.size / 121)
    when "/pages" then fill
    when "/seen-at" then @seen_at[@ids.rand(@seen_at.size)] = Object.new
    end
    Work.answer
  end

  # Fills only while a search looks on: a warm-up asks more often than all of its rounds together.
  def self.fill
    page = +"page"
    @pages[@pages.size] = page if @pages.size < 90 && ObjectSpace.allocation_sourcefile(page)
  end
end

run Keeping
