# frozen_string_literal: true

require_relative "site"

# What is served in the benchmark of throughput.
module Sites
  ROOT = Bench::ROOT

  module_function

  def hello
    Site.new(name: "a trivial application", dir: Bench::HERE, env: {}, threads: 5, ask: [], ready: "/")
  end

  # Without its stock service: the pages that ask nobody, so that the processor is what limits it.
  def storefront(bench)
    url, status = Open3.capture2("#{ROOT}/examples/storefront/bin/seed", "#{bench.folder}/storefront")
    raise "the storefront cannot be seeded" unless status.success?

    workload = "#{bench.folder}/storefront.toml"
    requests = %w[/products /products?page=5 /products/7 /products/321 /search?q=canvas /reports/sales]
    File.write(workload, requests.map { |path| "[[request]]\npath = #{path.inspect}\n" }.join("\n"))
    Site.new(name: "the storefront", dir: "#{ROOT}/examples/storefront", threads: 3, ready: "/up",
             env: pairs(url).merge("RAILS_LOG_LEVEL" => "warn", "RAILS_ENV" => "production"),
             ask: ["--workload", workload], paths: requests)
  end

  def redmine(bench)
    env, status = Open3.capture2("#{ROOT}/e2e/redmine/seed", "#{bench.folder}/redmine")
    raise "Redmine cannot be seeded: it needs root, and Debian's redmine and redmine-sqlite" unless status.success?

    workload = "#{ROOT}/e2e/redmine/workload.toml"
    Site.new(name: "Redmine", dir: "/usr/share/redmine", threads: 3, ready: "/projects", env: pairs(env),
             ask: ["--workload", workload], paths: File.read(workload).scan(/^path = "(.*)"/).flatten)
  end

  def pairs(text) = text.lines.to_h { |line| line.chomp.split("=", 2) }
end
