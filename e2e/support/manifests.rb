# frozen_string_literal: true

require "yaml"

# The manifests of docs/kubernetes.md.
module Manifests
  PAGE = File.expand_path("../../docs/kubernetes.md", __dir__)

  module_function

  def documents
    @documents ||= File.read(PAGE).scan(/^```yaml\n(.*?)^```$/m).flatten.flat_map { |text| YAML.load_stream(text) }
  end

  # Containers that run a mirror, each with its pod.
  def mirrors
    pods = documents.filter_map { |document| document.dig("spec", "template", "spec") }
    pods.flat_map { |pod| pod["containers"].filter_map { |one| [pod, one] if one["args"]&.first == "mirror" } }
  end

  # The pod whose containers have the agent.
  def agent = documents.find { |document| document["kind"] == "Pod" }["spec"]

  def flags(container)
    container["args"].filter_map { |arg| arg.delete_prefix("--").split("=", 2) if arg.include?("=") }.to_h
  end

  # "3GiB" as the mirror writes it, "4Gi" as Kubernetes does.
  def bytes(size)
    number, unit = size.match(/\A(\d+)([MG])iB?\z/).captures
    number.to_i * { "M" => 2**20, "G" => 2**30 }[unit]
  end

  # Hosts of the URLs in its arguments, which are names of Services.
  def services(container)
    container["args"].filter_map { |arg| arg[%r{://([a-z-]+):80\z}, 1] }
  end
end
