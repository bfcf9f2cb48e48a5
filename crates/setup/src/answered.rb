# frozen_string_literal: true

# Run by `bin/rails runner`: asks the application for each path once, and writes status, Location and path of each answer; of a
# page that raises 500, the exception and the path. It ends when POWERBAND_MOST paths have succeeded.
missing = Integer(ENV.fetch("POWERBAND_MOST"))
scheme = Rails.application.config.force_ssl ? "https" : "http"
# An exception is the reason, and a page of errors is none. Rails before 7.1 has no name for it.
shows = Gem::Version.new(Rails::VERSION::STRING) < Gem::Version.new("7.1.0.alpha") ? false : :none
Rails.application.env_config["action_dispatch.show_exceptions"] = shows
in_one_line = lambda do |text|
  first = text.to_s.dup.force_encoding(Encoding::UTF_8).scrub.strip.lines.first.to_s
  first.tr("\t\r\n", " ").strip[0, 300]
end
File.open(ENV.fetch("POWERBAND_ANSWERS"), "w:UTF-8") do |answers|
  File.readlines(ENV.fetch("POWERBAND_PATHS"), chomp: true).each do |path|
    env = Rack::MockRequest.env_for("#{scheme}://localhost#{path}", "REMOTE_ADDR" => "127.0.0.1")
    status, headers, body = Rails.application.call(env)
    body.close if body.respond_to?(:close)
    location = headers["location"] || headers["Location"]
    answers.puts [status, in_one_line.call(location), path].join("\t")
    missing -= 1 if status.between?(200, 299)
    break if missing.zero?
  rescue SignalException
    raise
  rescue Exception => e # rubocop:disable Lint/RescueException
    # A template's error is around what was raised in it, and Active Record's for a connection has no more than the host's name.
    around = /\A(?:ActionView::Template::Error|ActiveRecord::(?:DatabaseConnectionError|ConnectionNotEstablished)\z)/
    e = e.cause while e.cause && e.class.to_s.match?(around)
    # A record or a route that is not there is answered with 404, and so on.
    status = ActionDispatch::ExceptionWrapper.status_code_for_exception(e.class.to_s)
    said = in_one_line.call(e.message)
    raised = said.empty? || said == e.class.to_s ? e.class.to_s : "#{e.class}: #{said}"
    answers.puts [status, status < 500 ? "" : raised, path].join("\t")
  end
end
