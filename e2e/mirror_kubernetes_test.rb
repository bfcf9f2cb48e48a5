# frozen_string_literal: true

require "yaml"
require_relative "support/mirrors"
require_relative "support/pod"
require_relative "support/powerband"

# The manifests of docs/kubernetes.md: the mirror takes their arguments, serves their probes and ends in their time.
class MirrorKubernetesTest < PowerbandTest
  include Mirrors

  PAGE = File.join(ROOT, "docs/kubernetes.md")

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

  def test_the_mirror_starts_with_the_manifests_arguments
    mirrors.each do |_, container|
      port, status = free_ports(2)
      args = container["args"].map do |arg|
        arg.sub("0.0.0.0:8080", "127.0.0.1:#{port}").sub("0.0.0.0:9400", "127.0.0.1:#{status}")
           .sub("--lame-duck=5s", "--lame-duck=0s").sub("/data/", "#{@dir}/")
      end
      started = start(BINARY, *args)
      await("the mirror to be ready", of: started) { probe("127.0.0.1", status) == "200" }
      started.signal(:TERM)
      assert_includes [0, 3], finish(started).code
    end
  end

  def test_a_pod_that_ends_serves_until_nobody_asks_it
    lacks = Pod.lacks
    skip lacks if lacks
    pod = Pod.new
    lacks = pod.connect
    skip "no network namespace: #{lacks}" if lacks
    serve_and_end(pod)
  ensure
    pod&.remove
  end

  def test_the_agent_records_in_the_memory_that_containers_share
    manifest = documents.find { |document| document["kind"] == "Pod" }["spec"]["containers"].first
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

  def documents
    @documents ||= File.read(PAGE).scan(/^```yaml\n(.*?)^```$/m).flatten.flat_map { |text| YAML.load_stream(text) }
  end

  # Each with its pod.
  def mirrors
    pods = documents.filter_map { |document| document.dig("spec", "template", "spec") }
    pods.flat_map { |pod| pod["containers"].filter_map { |one| [pod, one] if one["args"]&.first == "mirror" } }
  end

  def flags(container)
    container["args"].filter_map { |arg| arg.delete_prefix("--").split("=", 2) if arg.include?("=") }.to_h
  end

  # "3GiB" as the mirror writes it, "4Gi" as Kubernetes does.
  def bytes(size)
    number, unit = size.match(/\A(\d+)([MG])iB?\z/).captures
    number.to_i * { "M" => 2**20, "G" => 2**30 }[unit]
  end

  # The sidecar with exactly its arguments, as the kubelet and a client outside of the pod see it.
  def serve_and_end(pod)
    manifest, container = mirrors.first
    app = start(*pod.inside, "puma", "-b", "tcp://127.0.0.1:3000", "-t", "2:2", chdir: File.join(APPS, "hello"))
    mirror = start(*pod.inside, BINARY, *container["args"])
    await("the mirror to be ready", of: mirror) { probe(pod.address, 9400) == "200" }
    await("an answer through the pod", of: app) { get(pod.address) == "200" }
    mirror.signal(:TERM)
    seen = []
    await("the end", within: manifest["terminationGracePeriodSeconds"]) do
      seen << [probe(pod.address, 9400), get(pod.address)]
      mirror.status
    end
    assert_includes seen, %w[503 200]
    # Before the lame duck is over every client is served.
    assert_equal %w[200], seen.map(&:last).take_while { |code| code }.uniq
    assert_includes [0, 3], finish(mirror).code, mirror.err
  end

  def probe(host, port) = code(host, "/readyz", port)
  def get(host) = code(host, "/", 8080)

  def code(host, path, port)
    Net::HTTP.start(host, port, open_timeout: 5, max_retries: 0) { |http| http.get(path) }.code
  rescue SystemCallError, EOFError, Net::OpenTimeout
    nil
  end
end
