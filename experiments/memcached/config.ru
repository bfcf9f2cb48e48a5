# frozen_string_literal: true

# A page that asks memcached for much, as those of large sites do: fragments, one after the other or all at once. The
# header x-sockets tells by hand which sockets were used.

require "dalli"

SERVER = "127.0.0.1:#{ENV.fetch('MEMCACHED_PORT')}".freeze
KEYS = (1..200).map { |n| "views/fragment/#{n}" }.freeze
ONE_BY_ONE = KEYS.first(60).freeze
# 200 bytes to 4 KB, the same ones every time.
FRAGMENTS = KEYS.each_with_index.to_h { |key, n| [key, "<li>fragment #{n}</li>" * (10 + ((n * 37) % 190))] }.freeze

# A client a thread, as a pool of them would give: Dalli's lock is not what is measured.
def client
  Thread.current[:dalli] ||= Dalli::Client.new(SERVER, raw: true, compress: false, socket_timeout: 5)
end

def answer(found)
  return [503, { "content-type" => "text/plain" }, ["#{found.size} keys found\n"]] if found.any?(&:nil?)

  [200, { "content-type" => "text/plain", "x-sockets" => Dalli::Socket::TCP.name },
   ["#{found.size} fragments, #{found.sum(&:bytesize)} bytes\n"]]
end

FRAGMENTS.each { |key, text| client.set(key, text) }

run(lambda do |env|
  case env["PATH_INFO"]
  when "/gets" then answer(ONE_BY_ONE.map { |key| client.get(key) })
  when "/multi" then answer(client.get_multi(*KEYS).values_at(*KEYS))
  else [404, {}, []]
  end
end)
