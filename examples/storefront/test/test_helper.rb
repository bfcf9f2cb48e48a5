ENV["RAILS_ENV"] = "test"
# A DATABASE_URL left in the shell would otherwise be the database that these tests rewrite.
ENV.delete("DATABASE_URL")

require_relative "../config/environment"
require "rails/test_help"
require_relative "../upstream/stock_service"

Rails.application.load_seed

module UpstreamHelper
  # Runs the block with a stock service that answers at once.
  def with_upstream(&)
    service = StockService.new(port: 0, delay_s: 0)
    thread = Thread.new { service.run }
    with_upstream_url("http://127.0.0.1:#{service.port}", &)
  ensure
    thread&.kill&.join
    service&.close
  end

  def with_upstream_url(url)
    settings = Rails.configuration.x
    before = settings.upstream_url
    settings.upstream_url = url
    yield
  ensure
    settings.upstream_url = before
  end
end
