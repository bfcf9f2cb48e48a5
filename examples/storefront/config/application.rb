require_relative "boot"

require "rails"
require "active_model/railtie"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "rails/test_unit/railtie"

Bundler.require(*Rails.groups)

module Storefront
  class Application < Rails::Application
    config.load_defaults 7.2
    config.autoload_lib(ignore: %w[tasks])

    # Where stock levels come from; see upstream/.
    config.x.upstream_url = ENV.fetch("UPSTREAM_URL") { "http://127.0.0.1:#{ENV.fetch('UPSTREAM_PORT', 9393)}" }
  end
end
