# frozen_string_literal: true

# Every way in which Rack lets a response be written.

SLOW = 0.1 # seconds that writing takes where it is slow

hijacked = lambda do |io|
  sleep SLOW
  io.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n") unless io.is_a?(Array)
  io.write("hijacked")
  io.close
end

run lambda { |env|
  text = { "content-type" => "text/plain" }
  case env["PATH_INFO"]
  when "/each" then [200, text, Enumerator.new { |out| 2.times { sleep(SLOW / 2) && out << "part" } }]
  when "/call" then [200, text, ->(io) { sleep(SLOW) && io.write("called") && io.close }]
  when "/full" then hijacked.call(env["rack.hijack"].call) && [-1, {}, []]
  when "/partial" then [200, text.merge("rack.hijack" => ->(io) { io.write("partial") && io.close }), []]
  when "/echo" then [200, text, [env["rack.input"].read]]
  when "/continue" then [env["HTTP_EXPECT"] ? 100 : 200, text, env["HTTP_EXPECT"] ? [] : [env["rack.input"].read]]
  when "/raise" then [200, text, Enumerator.new { |_| raise "while writing" }]
  when "/thrown" then catch(:async) { throw :async, [-1, {}, []] }
  else [200, text, env["REQUEST_METHOD"] == "HEAD" ? [] : ["hello"]]
  end
}
