# frozen_string_literal: true

# What the C library costs: the static program with musl's against the same profile with glibc, in CPU time a request of `load`
# and `mirror`. `ruby bench/libc/run.rb`; QUICK=1 takes a minute after the builds and proves that it works. Prints the table and
# writes it; see README.md in this folder.

ROOT = File.expand_path("../..", __dir__)
require "etc"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"
require_relative "../load/machine"
require_relative "../load/nginx"

QUICK = ENV["QUICK"] == "1"
ROUNDS = QUICK ? 6 : 20
SECONDS = QUICK ? 1 : 3
RATE = 3000

# CPU time that a process took so far.
def cpu_s(pid)
  fields = File.read("/proc/#{pid}/stat").rpartition(")").last.split
  (Integer(fields[11]) + Integer(fields[12])) / Float(Etc.sysconf(Etc::SC_CLK_TCK))
end

# `load` or `mirror` at work for some seconds, and the CPU time of a request.
class Work
  def initialize(machine, nginx, folder)
    @machine = machine
    @nginx = nginx
    @folder = folder
  end

  def load_kept(program) = load(program, "--connections", "8", "--keep-alive")
  def load_connecting(program) = load(program, "--connections", "8")
  def mirror_alone(program) = mirror(program)
  def mirror_with_shadow(program) = mirror(program, "--shadow", "copy=#{@nginx.url.chomp('/')}")
  def mirror_recording(program) = mirror(program, "--record", "#{@folder}/recorded.pbc")

  private

  def load(program, *options)
    run = @machine.generate([program, "load", *options, "--duration", "#{SECONDS}s", "--json", @nginx.url])
    run.cpu_s * 1e6 / sent(run.output)
  end

  # The mirror shares the generator's core: what it takes is counted for its process alone.
  def mirror(program, *options)
    FileUtils.rm_f("#{@folder}/recorded.pbc")
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    words = ["taskset", "-c", @machine.generator_core.to_s, program, "mirror", "--listen", "127.0.0.1:#{port}",
             "--primary", @nginx.url.chomp("/"), *options]
    pid = Process.spawn(*words, %i[out err] => "#{@folder}/mirror.log", chdir: @folder)
    listening(port)
    before = cpu_s(pid)
    run = @machine.generate([program, "load", "--rate", RATE.to_s, "--keep-alive", "--duration", "#{SECONDS}s", "--json",
                             "http://127.0.0.1:#{port}/"])
    (cpu_s(pid) - before) * 1e6 / sent(run.output)
  ensure
    Process.kill(:INT, pid)
    Process.wait(pid)
  end

  def sent(document) = JSON.parse(document).dig("counts", "sent")

  def listening(port)
    limit = @machine.now + 10
    TCPSocket.new("127.0.0.1", port).close
  rescue SystemCallError
    raise "bench/libc: the mirror does not listen:\n#{File.read("#{@folder}/mirror.log")}" if @machine.now > limit

    sleep 0.02
    retry
  end
end

WORK = {
  load_kept: "`load`, 8 kept connections", load_connecting: "`load`, a connection for each request",
  mirror_alone: "`mirror`, no shadow", mirror_with_shadow: "`mirror` to one shadow", mirror_recording: "`mirror --record`"
}.freeze

abort "bench/libc: nginx is missing: run script/bootstrap bench" unless system("command -v nginx >/dev/null")
Build.run("bench/libc", "make", "--silent", "static")
glibc = "#{Build::TARGET}/dist/powerband"
Build.run("bench/libc", "cargo", "build", "--quiet", "--profile", "dist", "--locked", "--package", "powerband-cli")
Build.release("bench/libc", "powerband-stats", "--example", "ratio")
musl = "#{ROOT}/target/#{Etc.uname[:machine]}-unknown-linux-musl/dist/powerband"

seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
machine = Machine.new
nginx = Nginx.new(machine.server_core)
folder = Dir.mktmpdir("bench-libc-")
at_exit do
  nginx.stop
  FileUtils.remove_entry(folder)
end
work = Work.new(machine, nginx, folder)
random = Random.new(seed)
rows = WORK.map do |part, name|
  made = Figures.rounds(ROUNDS, [glibc, musl], random) do |program, number|
    warn "bench/libc: #{name}, round #{number} of #{ROUNDS}"
    work.public_send(part, program)
  end
  ratio = Figures.compare(Build::TARGET, made[glibc], made[musl]).text(3)
  [name, *made.values_at(glibc, musl).map { |figures| format("%.1f", Figures.median(figures)) }, ratio]
end

text = <<~MARKDOWN
  # What the C library costs

  Made by `ruby bench/libc/run.rb` on #{Time.now.utc.strftime('%F')}, seed #{seed}: #{Figures.machine}. What is measured how:
  [README.md](README.md).

  #{ROUNDS} rounds of #{SECONDS} s; load average at the end #{File.read('/proc/loadavg').split.first}.

  #{Figures.markdown(['work', 'glibc, µs a request', 'musl, µs a request', 'musl to glibc (95 % interval)'], rows)}
MARKDOWN
results = QUICK ? "#{Build::TARGET}/bench-libc.md" : "#{__dir__}/RESULTS.md"
File.write(results, text.rstrip.concat("\n"))
puts text
warn "bench/libc: written to #{results}"
