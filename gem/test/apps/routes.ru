# frozen_string_literal: true

# A Rails application with an engine, and with applications of Sinatra and Grape inside.

require "rails"
require "action_controller/railtie"
require "sinatra/base"
require "powerband"

begin
  require "grape"
rescue LoadError
  # Grape 1.6 asks for a file that Rack has dropped since 3.1, and uses it only for digest authentication.
  $LOAD_PATH.unshift(File.join(__dir__, "without_digest"))
  require "grape"
end

class Shop < Sinatra::Base
  get("/orders/:id") { "order #{params[:id]}" }
end

class Api < Grape::API
  version "v1", using: :path
  format :json
  get("/items/:id") { { id: params[:id] } }
  post("/items") { error!("no", 422) }
end

module Blog
  class Engine < ::Rails::Engine
    def self.find_root(_) = Pathname.new(__dir__)
    isolate_namespace Blog
  end

  class PostsController < ActionController::Base
    def show
      render plain: "post #{params[:id]}"
    end
  end
end

Blog::Engine.routes.append { get "/posts/:id", to: "posts#show" }

class RoutesApplication < Rails::Application
  config.eager_load = false
  config.logger = Logger.new(nil)
  config.secret_key_base = "0" * 64
  config.hosts.clear
  routes.append do
    mount Blog::Engine => "/blog"
    mount Shop => "/shop"
    mount Api => "/api"
  end
end

RoutesApplication.initialize!
run RoutesApplication
