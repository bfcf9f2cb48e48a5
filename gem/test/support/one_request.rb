# frozen_string_literal: true

# What one request's record says of the calls in it.
module OneRequest
  include Recording

  def one_request
    flight = record do
      request do
        yield
        [200, {}, []]
      end
    end
    flight.records.fetch(0).merge(faults: flight[:faults])
  end

  def setup
    super
    Powerband::Calls.install
  end
end
