# frozen_string_literal: true

# Loaded into a server that valgrind counts the instructions of: from when the file is there the collector is off, whose runs
# fall into one measurement and not into the other.
Thread.new do
  sleep 0.05 until File.exist?(ENV.fetch("AGENT_BENCH_WITHOUT_GC"))
  GC.disable
end
