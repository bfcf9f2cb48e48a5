# frozen_string_literal: true

# Sends whoever has no session to the login, and refuses other hosts than its own below /hosted, as Rails does with config.hosts.
require_relative "../work"

run(lambda do |env|
  request = Rack::Request.new(env)
  next [403, {}, ["Blocked hosts: #{request.host}\n"]] if request.path.start_with?("/hosted") && request.host != "shop.test"
  next [302, { "location" => "/login" }, []] if request.path == "/account" && request.cookies["session"] != "eva"

  Work.answer
end)
