# frozen_string_literal: true

# What the C library costs: the static program with musl's against the same profile with glibc, in CPU time a request of `load`
# and `mirror`. `ruby bench/libc/run.rb`; QUICK=1 takes two minutes after the builds and proves that it works. Prints the table
# and writes it; see README.md in this folder.

require "etc"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"
require_relative "../load/machine"
require_relative "../mirror/servers"

QUICK = ENV["QUICK"] == "1"
ROUNDS = Integer(ENV.fetch("ROUNDS", QUICK ? 6 : 20))
SECONDS = QUICK ? 1 : 4
RATE = 3000

# `load` or `mirror` at work for some seconds, and the CPU time of a request in microseconds.
class Work
  def initialize(machine, folder)
    @machine = machine
    @folder = folder
    @server = Servers.application(folder, "application", machine.server_core).await
  end

  def load_kept(program) = load(program, "--connections", "8", "--keep-alive")
  def load_connecting(program) = load(program, "--connections", "8")
  def mirror_alone(program) = mirror(program)
  def mirror_with_shadow(program) = mirror(program, "--shadow", "copy=http://127.0.0.1:#{@server.port}")
  def mirror_recording(program) = mirror(program, "--record", "#{@folder}/recorded.pbc")

  def stop = @server.stop

  private

  def load(program, *options)
    run = generated(program, @server.port, *options)
    run.cpu_s * 1e6 / sent(run)
  end

  # From its start to its end, on the generator's core. Children count when they are waited for: the generator before the mirror.
  def mirror(program, *flags)
    FileUtils.rm_f("#{@folder}/recorded.pbc")
    status = Servers.free_port
    flags += ["--status", "127.0.0.1:#{status}"]
    mirror = Servers.powerband(@folder, "mirror", @machine.generator_core, program, @server.port, flags).await
    run = generated(program, mirror.port, "--rate", RATE.to_s, "--keep-alive")
    dropped(status)
    before = Process.times
    mirror.stop(:INT)
    after = Process.times
    (after.cutime + after.cstime - before.cutime - before.cstime) * 1e6 / sent(run)
  ensure
    mirror&.stop(:INT)
  end

  def generated(program, port, *options)
    @machine.generate([program, "load", "--quiet", *options, "--duration", "#{SECONDS}s", "--json", "http://127.0.0.1:#{port}/"])
  end

  def sent(run)
    counts = JSON.parse(run.output)["counts"]
    raise "bench/libc: #{counts['failed']} requests failed" unless counts["failed"].zero?

    counts["sent"]
  end

  # A copy that is not sent costs less than one that is.
  def dropped(status)
    shadow = JSON.parse(Net::HTTP.get("127.0.0.1", "/status.json", status)).dig("counts", "shadows", 0) or return
    lost = shadow["dropped"].values.sum
    raise "bench/libc: #{lost} copies were dropped" if lost * 1000 > shadow["sampled"]
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
musl = "#{Build::TARGET}/#{Etc.uname[:machine]}-unknown-linux-musl/dist/powerband"

seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
machine = Machine.new
folder = Dir.mktmpdir("bench-libc-")
at_exit { FileUtils.remove_entry(folder) }
work = Work.new(machine, folder)
at_exit { work.stop }
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

MARKDOWN
text << Figures.markdown(["work", "glibc, µs a request", "musl, µs a request", "musl to glibc (interval)"], rows)
Figures.publish("libc", text, full: !QUICK)
