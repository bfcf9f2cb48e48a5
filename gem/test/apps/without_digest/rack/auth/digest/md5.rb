# frozen_string_literal: true

# Stands in for what Rack 3.1 has no more, so that Grape 1.6 can be loaded beside it.
module Rack
  module Auth
    module Digest
      MD5 = Class.new
    end
  end
end
