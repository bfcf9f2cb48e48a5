# frozen_string_literal: true

require_relative "support/kafka"
require_relative "support/nginx"
require_relative "support/powerband"

# Recorded traffic through a real Kafka.
class KafkaTest < PowerbandTest
  include Kafka
  include Nginx

  def test_start
    t = Time.now
    node = kafka
    warn Time.now - t
    warn node.inspect
  end
end
