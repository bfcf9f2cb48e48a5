# frozen_string_literal: true

# What the GVL does to threads: /cpu runs for longer than Ruby lets a thread run at a time, /mixed runs and waits in turn
# (docs/trace.md).

def run_for(seconds)
  clock = Process::CLOCK_THREAD_CPUTIME_ID
  ends = Process.clock_gettime(clock) + seconds
  nil while Process.clock_gettime(clock) < ends
end

run(lambda do |env|
  if env["PATH_INFO"] == "/cpu"
    run_for(0.15)
  else
    4.times do
      run_for(0.003)
      sleep 0.009
    end
  end
  [200, { "content-type" => "text/plain" }, ["done\n"]]
end)
