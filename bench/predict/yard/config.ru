# frozen_string_literal: true

# YARD's documentation server as a Rack application, with the documentation that ./seed made. YARD renders each page anew.
require "yard"

log.level = YARD::Logger::ERROR
name, folder = ENV.values_at("YARD_LIBRARY", "YARD_DATABASE")
library = YARD::Server::LibraryVersion.new(name, nil, folder)
run YARD::Server::RackAdapter.new({ name => [library] }, { single_library: true, caching: false }, {})
