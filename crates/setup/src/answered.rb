# frozen_string_literal: true

# Run by `bin/rails runner`: asks the application for each path once, and writes status, Location and path of each answer. It
# ends when POWERBAND_MOST paths have succeeded.
missing = Integer(ENV.fetch("POWERBAND_MOST"))
scheme = Rails.application.config.force_ssl ? "https" : "http"
File.open(ENV.fetch("POWERBAND_ANSWERS"), "w") do |answers|
  File.readlines(ENV.fetch("POWERBAND_PATHS"), chomp: true).each do |path|
    env = Rack::MockRequest.env_for("#{scheme}://localhost#{path}", "REMOTE_ADDR" => "127.0.0.1")
    status, headers, body = Rails.application.call(env)
    body.close if body.respond_to?(:close)
    location = headers["location"] || headers["Location"]
    answers.puts [status, location.to_s.tr("\t\n", "  "), path].join("\t")
    missing -= 1 if status.between?(200, 299)
    break if missing.zero?
  rescue SignalException
    raise
  rescue Exception => e # rubocop:disable Lint/RescueException
    answers.puts [500, e.class, path].join("\t")
  end
end
