# frozen_string_literal: true

# Stands in for a file that Rack 3.1 has removed, so that Grape 1.6 can be loaded
# with it.
module Rack
  module Auth
    module Digest
      MD5 = Class.new
    end
  end
end
