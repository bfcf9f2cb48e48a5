# frozen_string_literal: true

# The root of a cell of script/matrix, entered for each step in namespaces of its own: what a step starts, mounts or listens on
# ends with it, and it reaches loopback alone.

require "fileutils"
require "open3"

# A root that cannot be made or used.
class NoRoot < StandardError; end

# A folder with an installed Debian, and the commands that are run in it.
class Root
  CHECKOUT = "/powerband"
  PACKAGES = "#{CHECKOUT}/packages".freeze
  # The first process of the namespace reaps what is orphaned, which a Ruby there would not.
  ENTER = <<~'SH'
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    for folder in tmp run dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$root/$folder"; done
    ip link set lo up
    code=0; chroot "$root" env -i "$@" || code=$?
    exit "$code"
  SH
  # `names` has the Ruby of the cell, where it is not Debian's default.
  NAMES = "/opt/matrix/bin"
  ENVIRONMENT = {
    "PATH" => "#{CHECKOUT}/bin:#{NAMES}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME" => "/root",
    # The checkout has no history there, from which script/package takes the time of its files.
    "SOURCE_DATE_EPOCH" => "0",
    "LANG" => "C.UTF-8", "CARGO_TARGET_DIR" => "#{CHECKOUT}/target", "POWERBAND_BINARY" => "#{CHECKOUT}/bin/powerband"
  }.freeze

  # With `unshare` all processes of its namespace end. nil: it was not started, or was reaped already.
  def self.end_namespace(pid)
    return unless pid

    Process.kill("KILL", pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  attr_reader :folder
  # What every command has in its environment beside the above.
  attr_accessor :environment

  def initialize(folder)
    @folder = folder
    @environment = {}
  end

  def name
    File.basename(folder)
  end

  # The working tree's files, the program under test and the documents' validator.
  def bring(checkout, binary, validator)
    inside = File.join(folder, CHECKOUT)
    FileUtils.rm_rf(inside, secure: true)
    FileUtils.mkdir_p(%w[bin target/debug].map { |part| File.join(inside, part) })
    copied = Open3.pipeline(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", { chdir: checkout }],
                            ["tar", "--create", "--null", "--ignore-failed-read", "--files-from=-", { chdir: checkout }],
                            ["tar", "--extract", { chdir: inside }])
    raise NoRoot, "the working tree cannot be copied" unless copied.all?(&:success?)

    FileUtils.cp(binary, File.join(inside, "bin/powerband"))
    FileUtils.cp(validator, File.join(inside, "target/debug/validate-json"))
  end

  # Output and exit status of a command in the root; no status where it took too long and was ended.
  def run(*words, limit_s:, chdir: CHECKOUT)
    reader, writer = IO.pipe
    pid = Process.spawn(*entered(chdir), *words, in: File::NULL, out: writer, err: writer, pgroup: true)
    writer.close
    text = Thread.new { reader.read.force_encoding("UTF-8").scrub }
    status = finished(pid, limit_s)
    Root.end_namespace(pid) unless status
    pid = nil
    [text.value, status]
  rescue SignalException
    Root.end_namespace(pid)
    raise
  end

  def remove
    return unless File.exist?(folder)

    mounted = File.readlines("/proc/self/mountinfo").map { |line| line.split[4] }.find { |point| point.start_with?("#{folder}/") }
    raise NoRoot, "#{mounted} is mounted; unmount it first: umount --recursive #{mounted}" if mounted

    system("rm", "-rf", "--one-file-system", folder) || raise(NoRoot, "#{folder} cannot be removed")
  end

  private

  def entered(chdir)
    variables = ENVIRONMENT.merge(environment).map { |name, value| "#{name}=#{value}" }
    ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "sh", "-ec", ENTER, "sh", folder,
     *variables, "sh", "-c", 'cd "$0" && exec "$@"', chdir]
  end

  def finished(pid, limit_s)
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit_s
    loop do
      _, status = Process.wait2(pid, Process::WNOHANG)
      return status if status
      return if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends

      sleep 0.05
    end
  end
end
