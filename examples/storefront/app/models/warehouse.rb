require "net/http"

# Asks the stock service (upstream/) how many of a product each warehouse holds: one HTTP call a warehouse, one after
# the other, as a first version of such a page usually does.
class Warehouse
  class Unavailable < StandardError; end

  NAMES = %w[north south].freeze
  OPEN_TIMEOUT_S = 1
  READ_TIMEOUT_S = 5

  def self.all(base: Rails.configuration.x.upstream_url)
    NAMES.map { |name| new(name, base:) }
  end

  attr_reader :name

  def initialize(name, base:)
    @name = name
    @uri = URI.join(base, "/stock/#{name}/")
  end

  def stock(product)
    response = get(URI.join(@uri, product.sku))
    raise Unavailable, "stock service answered #{response.code}" unless response.is_a?(Net::HTTPSuccess)

    JSON.parse(response.body).fetch("units")
  rescue SystemCallError, SocketError, Timeout::Error, EOFError => e
    raise Unavailable, "stock service at #{@uri.host}:#{@uri.port}: #{e.message}"
  end

  private

  def get(uri)
    Net::HTTP.start(uri.host, uri.port, open_timeout: OPEN_TIMEOUT_S, read_timeout: READ_TIMEOUT_S) do |http|
      http.get(uri.request_uri)
    end
  end
end
