require "active_support/core_ext/integer/time"
require "digest"

Rails.application.configure do
  config.enable_reloading = false
  config.eager_load = true
  config.consider_all_requests_local = false

  # Nothing is cached between requests: a cache would hide the work that a measurement is about.
  config.action_controller.perform_caching = false
  config.public_file_server.headers = { "cache-control" => "public, max-age=#{1.hour.to_i}" }

  # The demonstration speaks plain HTTP on loopback.
  config.force_ssl = false

  # The demonstration has no credentials file; a real deployment sets SECRET_KEY_BASE.
  config.secret_key_base = ENV.fetch("SECRET_KEY_BASE") do
    Digest::SHA256.hexdigest("storefront demonstration: #{Rails.root}")
  end

  config.log_tags = [:request_id]
  config.logger = ActiveSupport::Logger.new($stdout)
                                       .tap { |logger| logger.formatter = Logger::Formatter.new }
                                       .then { |logger| ActiveSupport::TaggedLogging.new(logger) }
  config.log_level = ENV.fetch("RAILS_LOG_LEVEL", "info")

  config.i18n.fallbacks = true
  config.active_support.report_deprecations = false
  config.active_record.dump_schema_after_migration = false
  config.active_record.attributes_for_inspect = [:id]
end
