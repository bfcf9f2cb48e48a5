# frozen_string_literal: true

# One page of a shop, in one file: three queries of some 10 ms each and a little Ruby. ASYNC=on asks them by load_async;
# THROUGH=pgbouncer goes through PgBouncer; CHECKOUT_TIMEOUT_S is how long a thread waits for a connection.

ENV["BUNDLE_GEMFILE"] = nil

require "rails"
require "active_record/railtie"
require "action_controller/railtie"

# The knob `pool` is told as Rails' own configuration expects it. The password is libpq's PGPASSWORD.
ENV["DATABASE_URL"] = format(
  "postgresql://shop@127.0.0.1:%<port>s/postgres?pool=%<pool>s&checkout_timeout=%<patience>s",
  port: ENV.fetch(ENV["THROUGH"] == "pgbouncer" ? "BOUNCER_PORT" : "DB_PORT"),
  pool: ENV.fetch("RAILS_MAX_THREADS", 5), patience: ENV.fetch("CHECKOUT_TIMEOUT_S", 5)
)

# The application.
class Shop < Rails::Application
  config.load_defaults 7.2
  config.root = __dir__
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = "of no use here: there is no session"
  config.logger = ActiveSupport::Logger.new($stdout)
  config.log_level = :fatal
  config.active_record.async_query_executor = :global_thread_pool
  config.active_record.global_executor_concurrency = 4

  routes.append { get "dashboard" => "dashboards#show" }
end

class Product < ActiveRecord::Base; end
class Review < ActiveRecord::Base; end

# Three queries that do not need one another, as dashboards have them.
class DashboardsController < ActionController::API
  ASYNC = ENV["ASYNC"] == "on"
  # What a larger database takes longer for.
  SLOWLY = "CROSS JOIN (SELECT pg_sleep(0.01)) AS slowly"

  def show
    lists = [newest, dearest, best].map { |relation| ASYNC ? relation.load_async : relation.load }
    render json: lists.map { |list| list.map(&:attributes) }
  end

  private

  def newest = Product.joins(SLOWLY).order(id: :desc).limit(20)
  def dearest = Product.joins(SLOWLY).where(category: 7).order(price_cents: :desc).limit(20)
  def best = Review.joins(SLOWLY).where(rating: 5).order(:id).limit(20)
end

Shop.initialize!
run Shop
