# frozen_string_literal: true

# Runs, collects and sleeps in each request, so that all of them are in any trace; /fibers does it in two fibers.
work = lambda do
  text = Array.new(5_000, &:to_s).join
  GC.start(full_mark: false)
  sleep 0.005
  text.size
end

run(lambda do |env|
  done = env["PATH_INFO"] == "/fibers" ? Array.new(2) { Fiber.new(&work).resume }.sum : work.call
  [200, { "content-type" => "text/plain" }, [done.to_s]]
end)
