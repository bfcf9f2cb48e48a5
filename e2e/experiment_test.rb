# frozen_string_literal: true

require "json"
require "time"
require_relative "support/experiments"
require_relative "support/nginx"
require_relative "support/powerband"
require_relative "support/prometheus"

# An experiment in production: the draw by `powerband run --experiment`, and the verdict of `powerband verdict`.
class ExperimentTest < PowerbandTest
  include Experiments
  include Nginx
  include Prometheus

  def test_a_unit_gets_the_same_arm_in_a_period
    file = experiment(share: 50)
    drawn = 40.times.map { |number| dry_run(file, "web-#{number}") }
    assert_equal drawn, 40.times.map { |number| dry_run(file, "web-#{number}") }
    arms = drawn.map { |out| arm(out) }
    assert_equal %w[slow today], arms.uniq.sort
    slow = drawn[arms.index("slow")]
    assert_match(/^WAIT_MS=25$/, slow)
    assert_match(/^POWERBAND_ARM=slow:\h{8}:0$/, slow)
    refute_match(/WAIT_MS/, drawn[arms.index("today")])
  end

  def test_outside_of_its_time_and_with_a_halted_arm_the_first_one_runs
    file = experiment(share: 50)
    unit = unit_of(file, "slow")
    File.write("#{file}.halted", "[[halted]]\narm = \"slow\"\n")
    assert_match(/runs today in period 0: slow was drawn, but it is halted$/, dry_run(file, unit))
    assert_match(/^POWERBAND_ARM=today:\h{8}:0:slow$/, dry_run(file, unit))
    wrong_files = { "[[halted" => /TOML/, "[[halted]]\narm = 'slwo'\n" => /"slwo": no arm that can be halted; .* are today/ }
    wrong_files.each do |text, said|
      File.write("#{file}.halted", text)
      wrong = powerband("run", "--experiment", file, "--dry-run", env: { "POWERBAND_UNIT" => unit })
      assert_match(said, wrong.err)
      assert_match(/only the first arm is run/, wrong.err)
      assert_match(/runs today/, wrong.out)
      assert_refused powerband("verdict", file, "--prometheus", "http://127.0.0.1:9", "--halt"), 2, said
    end

    later = experiment(starts: Time.now + 3600)
    said = dry_run(later, unit)
    assert_match(/runs today because the experiment has not begun$/, said)
    refute_match(/POWERBAND_ARM|WAIT_MS/, said)
    assert_match(/is over$/, dry_run(experiment(starts: Time.now - 7200), unit))
  end

  def test_every_problem_of_the_file_at_once
    file = File.join(@dir, "wrong.toml")
    File.write(file, "name = 'a'\nperiods = '6h'\n[[arm]]\nname = 'x'\n[[arm]]\nname = 'y'\nshare = '60%'\n")
    problems = [/wrong.toml: line 2: periods: unknown key/, /line 1: starts: missing/, /line 7: arm.share = "60%": out of range/]
    assert_refused powerband("run", "--experiment", file, "--", "true"), 2, *problems
    assert_refused powerband("verdict", file, "--prometheus", "http://127.0.0.1:9"), 2, *problems
    assert_refused powerband("run", "--experiment", File.join(@dir, "none.toml"), "--", "true"), 2, /none.toml: No such file/
  end

  def test_the_arm_is_in_the_metrics
    file = experiment(share: 50)
    folder = File.join(@dir, "flight")
    site = drawn_puma(file, unit_of(file, "slow"), folder)
    assert_equal "200", site.get("/").code
    text = site.get("/metrics").body
    assert_match(/^powerband_server_info\{.*arm="slow:\h{8}:0"/, text)
    assert_match(/unit \S+ runs slow in period 0/, site.started.err)
    tool = powerband("inspect", "--prometheus", File.join(folder, Process.uid.to_s))
    assert_match(/arm="slow:\h{8}:0"/, tool.out)
  ensure
    stop(site, :KILL) if site
  end

  # Puma's plugin, or another `powerband run`, would draw again.
  def test_the_variable_does_not_reach_the_command
    ended = powerband("run", "--", "env", env: { "POWERBAND_EXPERIMENT" => experiment, "POWERBAND_UNIT" => "web-1" })
    assert_equal 0, ended.code, ended.to_s
    assert_match(/^POWERBAND_ARM=\w+:\h{8}:0$/, ended.out)
    refute_match(/^POWERBAND_EXPERIMENT/, ended.out)
  end

  def test_what_prometheus_may_answer
    file = experiment(starts: Time.now - 120, lasts: "1h")
    nobody = free_port
    assert_refused powerband("verdict", file, "--prometheus", "http://127.0.0.1:#{nobody}"), 3, /cannot be asked/
    answers = {
      [200, "<html>"] => /not that of Prometheus/, [404, "no"] => /it answers 404/, [401, ""] => /give --token-file/,
      [400, '{"status":"error","error":"parse error"}'] => /refuses the query: parse error/,
      [503, '{"status":"error","error":"timed out"}'] => /timed out .*; try again, or raise Prometheus' query limits/,
      [200, '{"status":"success","data":{"resultType":"matrix","result":[]}}'] => /no instance with an arm of this experiment/
    }
    answers.each do |(status, body), said|
      answering(status, body) { |url| assert_refused powerband("verdict", file, "--prometheus", url), 3, said }
    end
    secret = File.join(@dir, "token")
    File.write(secret, "hunter2\n")
    plain = powerband("verdict", file, "--prometheus", "http://192.0.2.1:9090", "--token-file", secret)
    assert_refused plain, 2, /would go over the network in plain text/
    asked = answering(401, "") { |url| powerband("verdict", file, "--prometheus", url, "--token-file", secret) }
    assert_equal ["Bearer hunter2"], asked.uniq
    with_password = powerband("verdict", file, "--prometheus", "http://me:hunter2@127.0.0.1:1")
    assert_refused with_password, 2, /it holds a user/
    refute_includes with_password.err, "hunter2"
  end

  def test_a_certificate_that_the_system_does_not_trust_is_refused
    file = experiment(starts: Time.now - 120)
    site = nginx
    secret = File.join(@dir, "basic")
    File.write(secret, "me:hunter2\n")
    asked = ["verdict", file, "--prometheus", site.tls_url.chomp("/"), "--basic-file", secret]
    # nginx still runs.
    refused = powerband(*asked)
    assert_equal 3, refused.code, refused.to_s
    assert_match(/cannot be asked: .*certificate/i, refused.err)
    refute_match(/hunter2/, refused.err)
    assert_equal [], site.lines
    trusted = powerband(*asked, env: { "SSL_CERT_FILE" => site.certificate })
    assert_match(/not that of Prometheus/, trusted.err)
    assert_match(%r{GET /api/v1/query_range}, site.lines.first)
  end

  # Twelve Pumas behind nginx; one arm waits 15 ms longer. Its guardrail halts it.
  def test_a_fleet_behind_nginx_scraped_by_prometheus
    guardrails = "memory = '+500%'\nerrors = '5%'\np99 = '+20%'\n"
    file = experiment(lasts: "60s", slice: "2s", starts: Time.now + 1, guardrails: guardrails)
    units = %w[today slow].flat_map { |arm| units_of(file, arm, 6) }
    sleep 0.02 until Time.now > starts_at(file)
    sites = units.each_with_index.map { |unit, number| launch(file, unit, File.join(@dir, "flight-#{number}")) }
    sites.each { |site| await("Puma to listen", of: site.started) { listens?(site.port) } }
    ports = sites.map(&:port)
    balancer = balancer(ports)
    server = prometheus(ports)
    await("all arms in Prometheus", of: server.started) { arms_seen(server) == 12 }
    load = start(BINARY, "load", balancer, "--rate", "200", "--duration", "75s", "--quiet")
    ends = starts_at(file) + 62
    await("the last look", within: 120, of: load) { Time.now > ends }

    found = powerband("verdict", file, "--prometheus", server.url.chomp("/"), "--match", 'job="shop"')
    assert_equal 1, found.code, found.to_s
    assert_match(/\ASlow is worse: mean response time \+\d/, found.out)
    assert_match(/slow p99: BROKEN/, found.out)
    json = powerband("verdict", file, "--prometheus", server.url, "--json", "--halt")
    assert_valid_document(json.out, "verdict-v1")
    document = JSON.parse(json.out)
    ratio = document["comparisons"][0]["response_time"]
    assert_operator ratio["low"], :>, 1.2
    assert_equal [6, 6], document["arms"].map { |arm| arm["draws"] }
    assert_match(/arm = "slow"/, File.read("#{file}.halted"))
    path = File.join(@dir, "verdict.json")
    File.write(path, json.out)
    assert_match(/Not drawn any more/, powerband("report", path).out)

    FileUtils.cp(File.join(ROOT, "contract/samples/run/tune.json"), File.join(@dir, "run.json"))
    drifted = powerband("drift", @dir, "--prometheus", server.url, "--match", 'job="shop"', "--last", "10m", "--json")
    assert_equal 1, drifted.code, drifted.to_s
    assert_valid_document(drifted.out, "drift-v1")
    # Prometheus looks for the busiest five minutes at multiples of five minutes: this fleet may have been there at none.
    known = JSON.parse(drifted.out).fetch("assumptions").select { |one| one["now"] }.map { |one| one["figure"] } | ["rate"]
    assert_equal %w[held io_share lock_wait memory mix rate settings], known.sort
  ensure
    (sites || []).each { |site| stop(site, :KILL) }
  end

  # Response times follow the hour; after the change they are a fifth longer.
  def test_before_and_after_a_change_without_an_experiment
    periods = ["--before", "2026-11-12/2026-11-15", "--after", "2026-11-19/2026-11-22"]
    answering(200, method(:hours)) do |url|
      asked = ["verdict", *periods, "--prometheus", url, "--match", 'job="shop"']
      found = powerband(*asked)
      assert_equal 1, found.code, found.to_s
      assert_match(/\ALonger after the change: mean response time \+\d\d\.\d % .*without an\s+experiment/m, found.out)
      assert_match(/Weaker than an experiment/, found.out)
      json = powerband(*asked, "--json").out
      assert_valid_document(json, "before-after-v1")
      assert_in_delta 1.2, JSON.parse(json).dig("response_time", "estimate"), 0.02
    end
    empty = '{"status":"success","data":{"resultType":"matrix","result":[]}}'
    answering(200, empty) do |url|
      assert_refused powerband("verdict", *periods, "--prometheus", url), 3,
                     /no powerband_requests_total from 2026-11-12T00:00:00Z/
    end
    of_jobs = %w[admin shop].map { |job| { metric: { job: job }, values: [] } }
    answering(200, JSON.generate(status: "success", data: { resultType: "matrix", result: of_jobs })) do |url|
      assert_refused powerband("verdict", *periods, "--prometheus", url), 2, /more than one job, such as "admin" and "shop"/
    end
    nowhere = ["--prometheus", "http://127.0.0.1:9"]
    assert_refused powerband("verdict", *nowhere, *periods[0..2], "2026-11-19/2026-11-21"), 2,
                   /it is not as long as --before; give 3 days/
    alone = powerband("verdict", *nowhere, "--before", "2026-11-13/2026-11-14")
    assert_equal 2, alone.code, alone.to_s
    assert_match(/--after <PERIOD>/, alone.err)
    both = powerband("verdict", experiment, *nowhere, *periods)
    assert_equal 2, both.code, both.to_s
    assert_match(/cannot be used with/, both.err)
    assert_refused powerband("verdict", *nowhere, "--before", "2098-01-01/2098-01-02", "--after", "2099-01-01/2099-01-02"), 3,
                   /ends at 2099-01-02T00:00:00Z/
  end

  private

  # What Prometheus answers about a fleet with 1,000 requests an hour.
  def hours(asked)
    query, from, to, step = asked.values_at("query", "start", "end", "step")
    points = Range.new(Integer(from), Integer(to)).step(Integer(step)).map do |at|
      hour = at / 3_600
      response = 0.05 * (1 + (0.3 * Math.sin(hour * Math::PI / 12))) * (1 + (0.01 * (hour * 7 % 5)))
      response *= 1.2 if at > Time.utc(2026, 11, 19).to_i
      value = { /duration_seconds_sum/ => 1_000 * response, /queue/ => 0 }.find { |name, _| name.match?(query) }&.last || 1_000
      [at, value.to_s]
    end
    JSON.generate(status: "success", data: { resultType: "matrix", result: [{ metric: { le: "+Inf" }, values: points }] })
  end

  # A server that answers with this body, or with what is made of the parameters; what it was authorised with.
  def answering(status, body)
    socket = TCPServer.new("127.0.0.1", 0)
    seen = []
    thread = Thread.new do
      loop do
        client = socket.accept
        head = []
        while (line = client.gets) && line != "\r\n"
          head << line
        end
        seen.concat(head.filter_map { |field| field[/\Aauthorization: (.*)\r\n/i, 1] })
        text = body.is_a?(String) ? body : body.call(URI.decode_www_form(head.first[/\?(\S+)/, 1]).to_h)
        client.write("HTTP/1.1 #{status} x\r\nContent-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text}")
        client.close
      end
    end
    yield "http://127.0.0.1:#{socket.addr[1]}"
    seen
  ensure
    thread&.kill
    socket&.close
  end
end
