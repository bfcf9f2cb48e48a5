# frozen_string_literal: true

require "etc"
require "support/server_process"

# An Apache of our own with Passenger in it: its port, folders and PID file are the test's. Started by root its
# processes serve as www-data, whose flight files are in a folder of that user's.
class PassengerServer < ServerProcess
  COMMAND = [].freeze
  MODULES = "/usr/lib/apache2/modules"
  NEEDED = %W[/usr/sbin/apache2 #{MODULES}/mod_passenger.so].freeze
  USER = Process.uid.zero? ? "www-data" : Etc.getpwuid.name
  UID = Etc.getpwnam(USER).uid

  def self.missing
    missing = NEEDED.reject { |path| File.exist?(path) }
    return "needs libapache2-mod-passenger: no #{missing.join(', no ')}" unless missing.empty?

    "Passenger's watchdog does not start here: it reads /proc/1/environ, and may not" unless environment_of_init?
  end

  # Where it does not find by a file that it is in a container, the watchdog asks the first process, and aborts when
  # that is denied.
  def self.environment_of_init?
    return true if File.exist?("/.dockerenv") || File.exist?("/run/systemd/container")

    !File.binread("/proc/1/environ").nil?
  rescue SystemCallError
    false
  end

  # `directives` are lines of Apache's configuration; `variables` what mod_env hands to the application's processes.
  def initialize(root, _arguments, variables:, app: "hello.ru", directives: "", processes: 2)
    File.chmod(0o755, root)
    folders = %w[app/public logs run instances flight].map { |name| File.join(root, name).tap { |f| FileUtils.mkdir_p(f) } }
    File.chmod(0o1777, *folders.drop(1))
    FileUtils.cp(File.join(APPS, app), File.join(root, "app/config.ru"))
    @directives = directives
    @processes = processes
    @variables = { "POWERBAND_DIR" => File.join(root, "flight") }.merge(variables)
    super(root, [], command: ["/usr/sbin/apache2", "-D", "FOREGROUND"], env: Processes::CLEAN, app: [])
  end

  def listen
    file = File.join(root, "apache.conf")
    File.write(file, configuration)
    ["-f", file]
  end

  def uid
    UID
  end

  # Passenger's watchdog forks once more to clean up after Apache has ended; the folder of its instance goes last.
  def stop
    tree = descendants(@pid)
    super
    ends = now + PATIENCE
    sleep 0.02 while now < ends && (tree.any? { |pid| alive?(pid) } || !Dir.empty?(File.join(root, "instances")))
  end

  # Passenger's watchdog leaves Apache's process group: what Apache does not end itself is ended one by one.
  def kill
    tree = @pid ? descendants(@pid) : []
    super
    tree.each do |pid|
      Process.kill("KILL", pid)
    rescue Errno::ESRCH
      nil
    end
  end

  def log
    super + File.read(File.join(root, "logs/error"))
  end

  private

  def alive?(pid)
    !File.read("/proc/#{pid}/stat").match?(/\) [ZX] /)
  rescue SystemCallError
    false
  end

  def descendants(pid)
    children = Dir["/proc/#{pid}/task/*/children"].flat_map { |file| File.read(file).split.map(&:to_i) }
    children + children.flat_map { |child| descendants(child) }
  rescue SystemCallError
    []
  end

  def configuration
    <<~APACHE
      ServerRoot #{root}
      ServerName localhost
      Listen 127.0.0.1:#{port}
      PidFile #{root}/run/apache.pid
      DefaultRuntimeDir #{root}/run
      Mutex file:#{root}/run
      ErrorLog #{root}/logs/error
      #{"User #{USER}\nGroup #{USER}" if Process.uid.zero?}
      LoadModule mpm_event_module #{MODULES}/mod_mpm_event.so
      LoadModule authz_core_module #{MODULES}/mod_authz_core.so
      LoadModule env_module #{MODULES}/mod_env.so
      LoadModule passenger_module #{MODULES}/mod_passenger.so
      PassengerRoot /usr/lib/ruby/vendor_ruby/phusion_passenger/locations.ini
      PassengerDefaultRuby #{RbConfig.ruby}
      PassengerInstanceRegistryDir #{root}/instances
      PassengerUserSwitching off
      PassengerDefaultUser #{USER}
      PassengerDisableSecurityUpdateCheck on
      PassengerDisableAnonymousTelemetry on
      PassengerMinInstances #{@processes}
      PassengerMaxPoolSize #{@processes}
      PassengerPreStart http://127.0.0.1:#{port}/boot
      PassengerAppRoot #{root}/app
      PassengerAppType rack
      PassengerStartupFile config.ru
      DocumentRoot #{root}/app/public
      #{@directives}
      #{@variables.map { |name, value| "SetEnv #{name} #{value}" }.join("\n")}
      <Directory #{root}/app/public>
      Require all granted
      </Directory>
    APACHE
  end
end
