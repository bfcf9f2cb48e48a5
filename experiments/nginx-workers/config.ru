# frozen_string_literal: true

# A light page: 30 KB put together, and 4 ms of waiting as for a database. It is light so that what nginx does with a
# request, TLS included, is a good part of it.

ROW = "<tr><td>%<number>d</td><td>%<name>s</td></tr>\n"
WAIT_S = 0.004

def page
  rows = Array.new(700) { |number| format(ROW, number:, name: "row no. #{number}") }
  "<!doctype html>\n<table>\n#{rows.join}</table>\n"
end

run(lambda do |_env|
  sleep(WAIT_S)
  [200, { "content-type" => "text/html" }, [page]]
end)
