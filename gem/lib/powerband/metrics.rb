# frozen_string_literal: true

require_relative "flight_file"

module Powerband
  # A Rack application that answers with what the flight files of an application hold, as Prometheus reads it
  # (contract/metrics-v1.md). Whichever process is asked, the answer is that of all.
  #
  #   run Powerband::Metrics.new                           # at a path of its own
  #   mount Powerband::Metrics.new => "/metrics"           # in Rails' routes
  #   use Powerband::Metrics, path: "/metrics"             # in front of an application
  class Metrics
    TYPE = "text/plain; version=0.0.4; charset=utf-8"
    ENDPOINTS = 20

    # Where a bundle has no Rack, Puma builds the application with a builder of its own, which hands keywords over as a Hash.
    def self.new(app = nil, given = {}, **options)
      super(app, **given, **options)
    end

    # `endpoints`: how many are distinguished. `application`: the root folder of another application than this
    # process's own, or :all. `opentelemetry`: whether the family that OpenTelemetry names for servers is there too.
    def initialize(app = nil, path: "/metrics", endpoints: ENDPOINTS, application: nil, opentelemetry: false)
      @app = app
      @path = path
      @limit = number_of(endpoints)
      @application = application
      @opentelemetry = switch(opentelemetry)
    end

    def call(env)
      return @app.call(env) if @app && env["PATH_INFO"] != @path

      respond(env["REQUEST_METHOD"])
    end

    # The text, of which a scrape is made.
    def text
      user_folder = Powerband.config.user_folder
      reading = Folder.new(user_folder.checked || user_folder.path).read(application)
      Exposition.new(reading.sums, reading.gauges, @limit, opentelemetry: @opentelemetry).to_s
    end

    private

    def number_of(endpoints)
      number = Integer(endpoints.to_s, 10, exception: false)
      return number if number && !number.negative?

      raise ArgumentError, "endpoints: #{endpoints.inspect} is not a number of endpoints; give 0 or more, e.g. #{ENDPOINTS}"
    end

    # Text such as "false" would be true.
    def switch(opentelemetry)
      return opentelemetry if [true, false].include?(opentelemetry)

      raise ArgumentError, "opentelemetry: #{opentelemetry.inspect} is neither true nor false; give one of them"
    end

    def respond(method)
      return answer(405, "metrics are read with GET\n", "text/plain", "allow" => "GET, HEAD") unless %w[GET HEAD].include?(method)

      body = text
      answer(200, method == "HEAD" ? nil : body, TYPE)
    rescue StandardError => e
      Powerband.fault("metrics cannot be read", e)
      answer(500, method == "HEAD" ? nil : "metrics cannot be read: #{e.message}\n", "text/plain")
    end

    # Rack 3 wants names of headers in lower case and a hash that is not frozen; Rack 2 takes both.
    def answer(status, body, type, headers = {})
      [status, { "content-type" => type }.merge(headers), [body].compact]
    end

    def application
      return if @application == :all

      FlightFile.application_of((@application || Recorder.app_root).to_s)
    end
  end
end

require_relative "metrics/pace"
require_relative "metrics/measured"
require_relative "metrics/unknown"
require_relative "metrics/tally"
require_relative "metrics/edged"
require_relative "metrics/sums"
require_relative "metrics/carried"
require_relative "metrics/carried_row"
require_relative "metrics/carried_text"
require_relative "metrics/folder"
require_relative "metrics/gauges"
require_relative "metrics/families"
require_relative "metrics/text"
require_relative "metrics/open_telemetry"
require_relative "metrics/exposition"
