# frozen_string_literal: true

# What script/matrix finds on this machine: its Debian mirror, and whether roots can be made and entered at all.
module Machine
  module_function

  # The one of the machine's own sources, so that none is named here.
  def mirror
    @mirror ||= Dir["/etc/apt/sources.list", "/etc/apt/sources.list.d/*.{list,sources}"]
                .flat_map { |file| File.readlines(file) }.grep_v(/^\s*#/)
                .filter_map { |line| line[%r{https?://[^\] ]+/debian(?=/?(\s|$))}] }.min
  end

  # How this machine reaches its mirror: proxies, and whether an index may be old.
  def apt_options
    `apt-config dump Acquire`.lines(chomp: true).grep(/\AAcquire::(Check|http|https).* "[^"]+";\z/)
  end

  # Why no root can be made or entered here; nil where one can.
  def lacking
    return "it needs root, for namespaces and chroot" unless Process.uid.zero?

    absent = %w[mmdebstrap unshare ip].reject { |program| installed?(program) }
    return "#{absent.join(', ')} not installed: script/bootstrap matrix installs it" unless absent.empty?
    return "no Debian source is configured in /etc/apt" unless mirror

    namespaces = %w[unshare --mount --pid --fork --net sh -c] << "mount -t tmpfs tmpfs /tmp"
    "this kernel or container gives no mount, PID and network namespaces" unless system(*namespaces, err: File::NULL)
  end

  def installed?(program)
    ENV.fetch("PATH").split(":").push("/sbin", "/usr/sbin").any? { |folder| File.executable?(File.join(folder, program)) }
  end
end
