# frozen_string_literal: true

# Redirects what does not come by https to the same URL with https, as Rails does with config.force_ssl; wants a token; and
# sends whoever asks for /account to its login. With BOOTS_FOR it answers 502 for so many seconds from its first request on.
require_relative "../work"

started = nil
boots_for = Float(ENV.fetch("BOOTS_FOR", "0"))

run(lambda do |env|
  request = Rack::Request.new(env)
  started ||= Process.clock_gettime(Process::CLOCK_MONOTONIC)
  next [502, {}, []] if Process.clock_gettime(Process::CLOCK_MONOTONIC) < started + boots_for
  next [301, { "location" => "https://#{request.host}#{request.fullpath}" }, []] unless request.ssl?
  next [401, {}, []] unless request.get_header("HTTP_AUTHORIZATION") == "Bearer s3cret"
  next [302, { "location" => "/login?return=s3cret" }, []] if request.path == "/account"

  Work.wait(5)
  Work.answer
end)
