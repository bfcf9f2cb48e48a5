# frozen_string_literal: true

# The smallest Rails application with a route, the gem in its bundle.

require "rails"
require "action_controller/railtie"
require "powerband"

class TinyApplication < Rails::Application
  config.eager_load = false
  config.logger = Logger.new(nil)
  config.secret_key_base = "0" * 64
  config.hosts.clear
  routes.append { get "/items/:id", to: "items#show" }
end

class ItemsController < ActionController::Base
  def show
    render plain: "item #{params[:id]}"
  end
end

TinyApplication.initialize!
run TinyApplication
