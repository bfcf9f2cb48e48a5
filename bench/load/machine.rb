# frozen_string_literal: true

require "open3"

# One core for the server and what watches, one for the generator.
class Machine
  Run = Struct.new(:output, :cpu_s, :wall_s, keyword_init: true)

  attr_reader :server_core, :generator_core

  def initialize
    cores = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\S+)/, 1].split(",").flat_map do |part|
      first, last = part.split("-").map { |core| Integer(core) }
      (first..(last || first)).to_a
    end
    abort "two cores are needed, one for the server and one for the generator" if cores.size < 2
    @server_core, @generator_core = cores
    system("taskset", "-cp", server_core.to_s, Process.pid.to_s, out: File::NULL) || abort("taskset failed")
  end

  # Runs a generator on its core to its end. The CPU time is the kernel's account of the whole process.
  def generate(command)
    before = Process.times
    began = now
    output, errors, = Open3.capture3("taskset", "-c", generator_core.to_s, *command)
    after = Process.times
    raise "#{command.join(' ')} said nothing: #{errors}" if output.empty?

    Run.new(output:, cpu_s: after.cutime + after.cstime - before.cutime - before.cstime, wall_s: now - began)
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
