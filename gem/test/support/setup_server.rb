# frozen_string_literal: true

require "json"
require "support/server_process"

# What tests of the set-up ask a real server: what it says of itself, and what it reports.
module SetupServer
  LIBRARY = [File.join(GEM_ROOT, "lib"), File.join(__dir__, "setup")].join(":")
  SPIED = { "RUBYLIB" => LIBRARY, "RUBYOPT" => "-rsetup_spy -rpowerband/inject" }.freeze

  # Where Ruby cannot warm up, that is refused and the rest is done.
  WARMS = Process.respond_to?(:warmup)
  REFUSED = WARMS ? [] : [{ "what" => "warmup", "why" => "Process.warmup needs Ruby 3.3, this is #{RUBY_VERSION}" }].freeze

  # What a warm-up by this process looks like to the application.
  def warmed(pid)
    WARMS ? [[pid, "loaded"]] : []
  end

  # Yields the server; `setup` are the variables without their common beginning.
  def with_setup(server, *arguments, setup: {}, env: {}, **options, &)
    variables = setup.to_h { |name, value| ["POWERBAND_SETUP_#{name}", value.to_s] }
    server.run(*arguments, env: SPIED.merge(variables, env), app: "setup.ru", **options, &)
  end

  def ask(server, path = "/")
    text = server.get(path)
    text && JSON.parse(text)
  end

  # One answer of each process that serves.
  def ask_all(server, count)
    answers = {}
    server.await("an answer of each of #{count} processes") do
      Array.new(count * 2) { Thread.new { ask(server) } }.filter_map(&:value).each { |answer| answers[answer["pid"]] ||= answer }
      answers.size >= count
    end
    answers.values
  end

  def reports(server)
    Dir[File.join(server.root, "flight", server.uid.to_s, "setup-*.json")].map { |path| JSON.parse(File.read(path)) }
  end

  def report_of(server, pid)
    reports(server).find { |report| report["pid"] == pid }
  end
end
