# frozen_string_literal: true

# Redirects and refuses before it routes: GET /<status>/<anything>, and GET /routes/<number>.
run lambda { |env|
  _, first, second = env["PATH_INFO"].split("/")
  env["powerband.endpoint"] = "route #{second}" if first == "routes"
  status = first.to_i
  [status.between?(200, 599) ? status : 200, { "content-type" => "text/plain", "location" => "/" }, []]
}
