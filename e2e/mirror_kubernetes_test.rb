# frozen_string_literal: true

require_relative "support/manifests"
require_relative "support/mirrors"
require_relative "support/powerband"

# The manifests of docs/kubernetes.md: what they say agrees, and the mirror takes their arguments. mirror_pod_test.rb runs them in
# namespaces.
class MirrorKubernetesTest < PowerbandTest
  parallelize_me!

  include Manifests
  include Mirrors

  def test_the_manifests_agree_with_the_mirrors_arguments
    assert_equal 2, mirrors.size
    mirrors.each do |pod, container|
      flags = flags(container)
      names = container["ports"].to_h { |port| [port["name"], port["containerPort"].to_s] }
      assert_equal [flags["listen"], flags["status"]].map { |at| at[/\d+\z/] }, names.values_at("http", "status")
      probes = container.values_at("readinessProbe", "livenessProbe").map { |probe| probe["httpGet"].values_at("path", "port") }
      assert_equal [%w[/readyz status], %w[/livez status]], probes
      # The manifests leave the shadows' deadline as it is.
      needed = flags.values_at("lame-duck", "drain").sum(&:to_i) + ENDING.values_at("DEADLINE", "GRACE").sum
      assert_operator pod["terminationGracePeriodSeconds"], :>, needed
      assert_includes File.read(PAGE), "The sum, #{needed} s,"
    end
  end

  def test_recordings_stay_below_the_size_at_which_the_kubelet_evicts_the_pod
    recording = mirrors.select { |_, container| flags(container).key?("record") }
    refute_empty recording
    recording.each do |pod, container|
      folder = File.dirname(flags(container)["record"])
      mount = container["volumeMounts"].find { |one| one["mountPath"] == folder }["name"]
      volume = pod["volumes"].find { |one| one["name"] == mount }
      assert_operator bytes(flags(container).fetch("record-limit")), :<, bytes(volume.dig("emptyDir", "sizeLimit"))
    end
  end

  def test_the_memory_limits_hold_what_connections_and_records_may_take
    mirrors.each do |_, container|
      flags = flags(container)
      # Of a head twice as much, since buffers grow by doubling; --max-held and the records that wait are 64 MiB each.
      head = 2 * (64 << 10) * (flags["strictness"] == "report" ? 4 : 1)
      needed = (flags.fetch("connections").to_i * (head + (32 << 10))) + (64 << 20) + (flags.key?("record") ? 64 << 20 : 0)
      assert_operator bytes(container.dig("resources", "limits", "memory")), :>, needed
    end
  end

  # On loopback, so that it needs no root; mirror_pod_test.rb has exactly their arguments.
  def test_the_mirror_starts_with_the_manifests_arguments
    mirrors.each do |_, container|
      port, status = free_ports(2)
      args = container["args"].map do |arg|
        arg.sub("0.0.0.0:8080", "127.0.0.1:#{port}").sub("0.0.0.0:9400", "127.0.0.1:#{status}")
           .sub("--lame-duck=5s", "--lame-duck=0s").sub("/data/", "#{@dir}/")
      end
      started = start(BINARY, *args)
      await("the mirror to be ready", of: started) { listens?(status) && readiness(status) == "200" }
      started.signal(:TERM)
      assert_includes [0, 3], finish(started).code
    end
  end

  def test_the_agent_records_in_the_memory_that_containers_share
    manifest = agent["containers"].first
    # As the kubelet makes an emptyDir.
    mount = File.join(@dir, "mount").tap { |path| Dir.mkdir(path) }
    File.chmod(0o777, mount)
    variables = manifest["env"].to_h { |one| one.values_at("name", "value") }
    variables.transform_values! { |value| value.sub(manifest["volumeMounts"].first["mountPath"], mount) }
    site = puma(File.join(APPS, "hello"), before: [BINARY, "run", "--"], env: variables)
    assert_equal "200", site.get("/").code
    refute_empty Dir[File.join(mount, "**/*.flight")]
    stop(site)
  end

  private

  def readiness(port) = Net::HTTP.get_response("127.0.0.1", "/readyz", port).code
end
