# frozen_string_literal: true

require_relative "support/powerband"

# Experiments as files: configurations by name in powerband.toml, their services' templates, and a rehearsal of them.
class ArmsTest < PowerbandTest
  parallelize_me!

  UPSTREAM = <<~RUBY
    require "socket"
    greeting, port = File.read(ARGV.fetch(0)).split
    server = TCPServer.new("127.0.0.1", Integer(port))
    loop do
      client = server.accept
      File.write(ENV.fetch("SEEN"), greeting + "\\n", mode: "a")
      client.write("HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
      client.close
    end
  RUBY

  def test_a_rehearsal_of_named_configurations_with_a_service_of_its_own
    write(app: "https_only", account: "status = 302", arms: <<~TOML)
      [baseline]
      threads = 2
      value.greeting = "hello"
      [[arm]]
      name = "plain"
      [[arm]]
      name = "late-gc"
      gc.malloc_limit = "48MiB"
      value.greeting = "bonjour"
    TOML
    page = File.join(@dir, "table.md")
    ended = measured("compare", "--config", "powerband.toml", "--rehearse", "--markdown", page, "--runs", runs,
                     "--header", "Authorization: Bearer s3cret", within: 120)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/every configuration started, served and ended/, ended.out)
    assert_match(/late-gc +single × 2 threads\n +RUBY_GC_MALLOC_LIMIT +50331648$/, ended.out)
    assert_equal %w[bonjour hello], File.readlines(File.join(@dir, "seen"), chomp: true).uniq.sort
    table = File.read(page)
    assert_match(/^\| late-gc \| single × 2 threads \| `RUBY_GC_MALLOC_LIMIT=50331648`, `\{greeting\}=bonjour` \|$/, table)
    assert_match(/^\| plain \| \d/, table)
    assert_includes table, "powerband compare --config powerband.toml --rehearse"
    assert_equal %w[plain late-gc], document.fetch("arms").map { |arm| arm["label"] }
    assert_equal 7, document.fetch("plan").fetch("connections")
    assert_sent_as_by_a_proxy(ended)
  end

  def test_a_page_that_always_leads_to_the_login_ends_the_run
    write(app: "https_only", arms: [2, 3].map { |threads| "[[arm]]\nname = \"of-#{threads}\"\nthreads = #{threads}\n" }.join)
    ended = measured("compare", "--config", "powerband.toml", "--rehearse", "--runs", runs,
                     "--header", "Authorization: Bearer s3cret", within: 60)
    assert_refused ended, 3, %r{every answer of a page is a redirect, .* \(GET /account: 302 to /login\?…\)},
                   /a session that logs in/, /status = 302 in the workload file/
  end

  def test_everything_wrong_with_named_configurations_is_told_at_once
    write(arms: <<~TOML)
      [[arm]]
      name = "a b"
      [[arm]]
      name = "twice"
      turbo = true
      [[arm]]
      name = "twice"
      [arm.nginx]
      workers = 2
      [[arm]]
      threads = 3
    TOML
    ended = powerband("compare", "--config", "powerband.toml")
    assert_refused ended, 2, /arm\.name.*"a b": no name/, /unknown knob "turbo"/, /two configurations have this name/,
                   /an \[\[arm\]\] in powerband\.toml has no name/
    write(arms: "[[arm]]\nname = \"a\"\n[arm.value]\nnobody = 1\n[[arm]]\nname = \"b\"\n[arm.nginx]\nworkers = 2\n")
    ended = powerband("compare", "--config", "powerband.toml")
    assert_refused ended, 2, /value\.nobody fills nothing/, /nginx\.workers is set, and no nginx is started/
    write(arms: "")
    assert_refused powerband("compare", "--config", "powerband.toml"), 2, /no configurations to compare.*\[\[arm\]\]/
    assert_no_run_folder
  end

  def test_statements_of_puma_are_written_and_read_back
    rehearse = ["compare", "threads=1", "--rehearse", "--app", File.join(APPS, "hello"), "--runs", runs]
    taken = statements_taken.map { |one| "puma.#{one}" }.join(",")
    ended = measured(*rehearse, "threads=1,#{taken}", within: 60)
    assert_equal 0, ended.code, ended.to_s
    assert_match(/every configuration started, served and ended/, ended.out)
    statement, said = statement_not_taken
    refused = measured(*rehearse, "threads=1,puma.#{statement}", within: 60)
    refute_equal 0, refused.code, refused.to_s
    assert_match said, refused.to_s
  end

  private

  def puma?(least)
    Gem::Specification.find_by_name("puma").version >= Gem::Version.new(least)
  end

  # All that the installed Puma has in single mode.
  def statements_taken
    ["queue_requests=off", "persistent_timeout=5", "wait_for_less_busy_worker=1ms",
     *("enable_keep_alives=off" if puma?("6.5")),
     *(puma?("7") ? %w[max_keep_alive=100 fiber_per_request=on] : %w[max_fast_inline=1]),
     *("max_io_threads=3" if puma?("8"))]
  end

  # One that it does not have, and what is said. Puma 8 has each but one, which sets another there.
  def statement_not_taken
    return ["max_fast_inline=1", /puma\.max_fast_inline = 1 was asked, the server runs with nothing/] if puma?("8")

    name = puma?("7") ? "max_io_threads" : "max_keep_alive"
    ["#{name}=5", /Puma [567]\.\S+ has no #{name}: take puma\.#{name} out/]
  end

  # What the application redirects otherwise, and the token that it wants.
  def assert_sent_as_by_a_proxy(ended)
    assert_match(/Connections: one per request\. X-Forwarded-Proto: https is sent, as a proxy/, ended.out.gsub(/\s+/, " "))
    sending = { "keep_alive" => false, "headers" => ["Authorization"], "forwarded_https" => true }
    assert_equal sending, document.fetch("plan").fetch("sending")
    files = Dir[File.join(runs, "**/*")].select { |path| File.file?(path) }
    assert_empty(files.select { |path| File.binread(path).include?("s3cret") })
  end

  def write(arms:, app: "io", account: "")
    File.write(File.join(@dir, "upstream.rb"), UPSTREAM)
    File.write(File.join(@dir, "upstream.conf"), "{greeting} {port}\n")
    File.write(File.join(@dir, "powerband.toml"), <<~TOML)
      #{arms}
      [app]
      dir = "#{File.join(APPS, app)}"
      [app.env]
      SEEN = "#{@dir}/seen"
      [[service]]
      name = "upstream"
      command = "ruby upstream.rb {template}"
      template = "upstream.conf"
      ready_path = "/"
      [tune]
      connections = 7
      [[workload.request]]
      path = "/"
      [[workload.request]]
      path = "/account"
      weight = 0.2
      #{account}
    TOML
  end
end
