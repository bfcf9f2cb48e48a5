# frozen_string_literal: true

require "test_helper"
require "pathname"
require "rack"
require "rack/lint"
require "rack/mock"
require "support/server_process"

class MetricsTest < Minitest::Test
  include Recording

  APP = "/srv/shop"

  # A folder as the agent makes it, with the settings pointing at it.
  def in_root
    Dir.mktmpdir do |root|
      config = Powerband::Config.new("POWERBAND_DIR" => root)
      Powerband.stub(:config, config) { yield File.join(root, Process.euid.to_s) }
    ensure
      Powerband::Native.forget
    end
  end

  def record_in(folder, app_root: APP)
    Powerband::Native.forget
    Powerband::Native.open(OPTIONS.merge(root: File.dirname(folder), app_root: app_root))
    yield if block_given?
    Powerband::Native.path
  end

  def get(app = metrics, path = "/", **options)
    Rack::MockRequest.new(Rack::Lint.new(app)).get(path, options)
  end

  def metrics(**options)
    Powerband::Metrics.new(application: APP, **options)
  end

  def value(text, series)
    text[/^#{Regexp.escape(series)} (\S+)$/, 1]
  end

  def test_a_scrape
    in_root do |folder|
      record_in(folder) { 3.times { request("PATH_INFO" => "/orders/1") } }
      response = get

      assert_equal [200, "text/plain; version=0.0.4; charset=utf-8"], [response.status, response["content-type"]]
      assert_equal "3", value(response.body, 'powerband_endpoint_requests_total{endpoint="GET /orders/:id"}')
      assert_equal "3", value(response.body, "powerband_requests_total")
      assert_equal "1", value(response.body, "powerband_processes")
      assert_equal "0", value(response.body, "powerband_requests_in_flight")
      refute_includes response.body, "powerband_jobs_total"
    end
  end

  def test_responses_by_class_of_status
    in_root do |folder|
      record_in(folder) do
        [200, 204, 302, 404, 503].each { |status| request { |_| [status, {}, []] } }
        assert_raises(RuntimeError) { request { |_| raise "no" } }
      end
      body = get.body

      classes = %w[1xx 2xx 3xx 4xx 5xx].map { |name| value(body, %(powerband_responses_total{class="#{name}"})) }
      assert_equal %w[0 2 1 1 2], classes
    end
  end

  def test_what_the_live_processes_are
    in_root do |folder|
      record_in(folder)
      Powerband::Native.forget
      about = { arm: "canary", allocator: "jemalloc", jit: "yjit", server_name: "puma 7.1.0" }
      Powerband::Native.open(OPTIONS.merge(root: File.dirname(folder), app_root: APP, **about))
      body = get.body

      labels = %(server="puma",version="7.1.0",ruby="#{RUBY_VERSION}",jit="yjit",allocator="jemalloc",agent="0.1.0",arm="canary")
      assert_equal "1", value(body, "powerband_server_info{#{labels},threads=\"3\",workers=\"2\"}")
      assert_equal "3", value(body, "powerband_threads")
      assert_equal "2", value(body, "powerband_processes_expected")
      assert_operator value(body, "powerband_resident_memory_bytes").to_i, :>, 1 << 20
    end
  end

  def test_numbers_that_live_processes_do_not_agree_on_or_do_not_know
    about = Struct.new(:threads, :workers)
    sizes = ->(*rows) { Powerband::Metrics::Gauges.send(:sizes, rows.map { |row| about.new(*row) }).values }

    assert_equal %w[5 2], sizes[[5, 2], [5, 2]]
    assert_equal ["", "2"], sizes[[5, 2], [3, 2]]
    assert_equal ["5", ""], sizes[[5, 2], [5, nil]]
    assert_equal ["", "0"], sizes[[nil, 0]]
  end

  # Puma's first worker forks the others under `fork_worker`.
  def test_processes_expected_of_clusters
    about = Struct.new(:parent_pid, :workers)
    file = Struct.new(:origin, :pid, :about, :created_mono_ns)
    expected = lambda do |*rows|
      Powerband::Metrics::Gauges.expected(rows.map { |pid, *row| file.new(:here, pid, about.new(*row), pid) })
    end

    assert_equal 2, expected[[11, 10, 2]]
    assert_equal 3, expected[[11, 10, 3], [12, 11, 3], [13, 11, 3]]
    assert_equal 5, expected[[11, 10, 3], [21, 20, 2]]
    assert_equal 2, expected[[11, 10, 3], [12, 10, 3], [13, 10, 2]], "the youngest worker knows the number"
    assert_equal 2, expected[[11, 1, 0], [12, 1, nil]]
    assert_equal 0, expected[]
  end

  def test_what_this_ruby_runs_with
    assert_match(/\A(jemalloc|tcmalloc|mimalloc|glibc|musl)\z/, Powerband::Runtime.allocator)
    jit = "none"
    jit = RubyVM::YJIT.enabled? ? "yjit" : "off" if RubyVM.const_defined?(:YJIT)
    assert_equal jit, Powerband::Runtime.jit
  end

  def test_the_variables_of_memory_alone_are_recorded
    environ = "SECRET=a\0RUBY_GC_MALLOC_LIMIT=1\0MALLOC_ARENA_MAX=2\0RUBY_GC_ODD=a\nb\0XRUBY_GC_A=1\0"
    read = ->(text) { Powerband::Runtime.variables(text.b) }

    assert_equal "RUBY_GC_MALLOC_LIMIT=1\nMALLOC_ARENA_MAX=2", read.call(environ)
    assert_equal "", read.call("PATH=/bin\0")
    long = Array.new(20) { |n| "RUBY_GC_#{n}=#{'x' * 100}" }.join("\0")

    assert_operator read.call(long).bytesize, :<, 1280
    assert_equal "…".b, read.call(long).lines.last
    assert_equal "…".b, read.call("RUBY_GC_A=#{'x' * 2000}")
    assert_equal "RUBY_GC_A=1\n…".b, read.call("RUBY_GC_A=1\0RUBY_GC_B=#{'x' * 2000}")
  end

  def test_variables_behind_a_process_title_are_those_that_ruby_has
    ENV["RUBY_GC_HEAP_GROWTH_FACTOR"] = "1.3"

    ["storefront]\0\0\0", "\0\0", "", nil].each do |left|
      assert_includes Powerband::Runtime.variables(left), "RUBY_GC_HEAP_GROWTH_FACTOR=1.3", left.inspect
    end
  ensure
    ENV.delete("RUBY_GC_HEAP_GROWTH_FACTOR")
  end

  def test_the_allocator_is_found_behind_a_mapped_path_in_any_encoding
    Tempfile.create("maps", binmode: true) do |maps|
      maps.write("7f00-7f01 r--p 00000000 fe:00 1 /srv/caf\xE9/lib.so\n" \
                 "7f02-7f03 r--p 00000000 fe:00 2 /usr/lib/libjemalloc.so.2\n".b)
      maps.close

      assert_equal "jemalloc", Powerband::Runtime.allocator(maps.path)
    end
  end

  def test_methods
    in_root do |folder|
      record_in(folder)
      request = Rack::MockRequest.new(Rack::Lint.new(metrics))

      assert_equal [200, ""], request.head("/").then { |r| [r.status, r.body] }
      assert_equal [405, "GET, HEAD"], request.post("/").then { |r| [r.status, r["allow"]] }
    end
  end

  def test_in_front_of_an_application_it_answers_at_its_path_alone
    in_root do |folder|
      record_in(folder)
      app = Powerband::Metrics.new(->(_) { [200, {}, ["theirs"]] }, path: "/internal/metrics", application: APP)

      assert_equal "theirs", get(app, "/").body
      assert_equal "theirs", get(app, "/internal/metrics/").body
      assert_includes get(app, "/internal/metrics").body, "powerband_requests_total 0"
    end
  end

  # As Puma's own builder, where a bundle has no Rack, hands over what `use` was given.
  def test_keywords_that_come_as_a_hash
    in_root do |folder|
      record_in(folder)
      app = Powerband::Metrics.new(->(_) { [200, {}, ["theirs"]] }, { path: "/m", application: APP })

      assert_equal ["theirs", true], [get(app, "/").body, get(app, "/m").body.include?("powerband_requests_total")]
      assert_raises(ArgumentError) { Powerband::Metrics.new(nil, { paths: "/m" }) }
    end
  end

  # Prometheus sees a scrape that failed, and no counter that fell.
  def test_what_goes_wrong_is_an_answer
    in_root do |folder|
      record_in(folder)
      File.write(File.join(folder, "carried"), "not ours\n")
      response = nil
      _, said = capture_io { response = get }

      assert_equal 500, response.status
      assert_match(/metrics cannot be read: .*"not ours/, response.body)
      assert_match(/metrics cannot be read/, said)
      assert_equal "", Rack::MockRequest.new(Rack::Lint.new(metrics)).head("/").body
    end
  end

  def test_without_a_folder_nothing_has_been_counted
    in_root { assert_equal "0", value(get.body, "powerband_processes") }
  end

  def test_other_applications_are_left_out_and_releases_are_one
    in_root do |folder|
      record_in(folder, app_root: "/srv/other") { 5.times { request } }
      record_in(folder, app_root: "#{APP}/releases/20260101120000") { request }
      record_in(folder, app_root: "#{APP}/releases/20260102120000") { 2.times { request } }

      assert_equal "3", value(get.body, "powerband_requests_total")
      { :all => "8", Pathname("/srv/other") => "5", "/srv/other" => "5" }.each do |application, requests|
        assert_equal requests, value(get(Powerband::Metrics.new(application:)).body, "powerband_requests_total")
      end
    end
  end

  def test_of_a_process_with_two_files_the_younger_lives
    in_root do |folder|
      2.times { record_in(folder) { request } }

      assert_equal %w[2 1], %w[requests_total processes].map { |name| value(get.body, "powerband_#{name}") }
    end
  end

  def test_a_process_that_ended_is_counted_and_not_live
    in_root do |folder|
      pid = fork do
        record_in(folder) { 4.times { request } }
        exit!
      end
      Process.wait(pid)

      assert_equal %w[4 0], %w[requests_total processes].map { |name| value(get.body, "powerband_#{name}") }
    end
  end

  # An endpoint may be in front at the one scrape and not at the next: no series is lower than
  # it was.
  def test_no_counter_falls_when_an_endpoint_falls_out_or_a_file_is_removed
    in_root do |folder|
      dice = Random.new(7)
      app = metrics(endpoints: 3)
      seen = {}
      paths = []
      20.times do |round|
        paths << record_in(folder) { 30.times { request("PATH_INFO" => "/#{'abcdefgh'[dice.rand(8)]}x") } }
        Powerband::Metrics::Carried.retire(folder, [paths.shift]) if round.odd? && dice.rand < 0.8
        counters = counters(get(app).body)
        counters.each { |series, number| assert_operator number, :>=, seen.fetch(series, 0), series }
        seen.merge!(counters)
      end

      assert_equal 600, seen["powerband_requests_total"]
      assert_operator seen.keys.grep(/endpoint_requests_total/).size, :>, 3
    end
  end

  # docs/metrics.md says how many series an endpoint has, and how to get at the rest.
  def test_series_are_bounded_and_nothing_is_lost
    in_root do |folder|
      record_in(folder) do
        60.times { |n| (n + 1).times { request("PATH_INFO" => "/#{('a'.ord + (n / 26)).chr}#{('a'.ord + (n % 26)).chr}") } }
      end
      { metrics => 20, metrics(endpoints: 50) => 50, metrics(endpoints: 0) => 0 }.each do |app, most|
        body = get(app).body
        left_out = (1..(60 - most)).sum
        %w[requests_total duration_seconds_count].each do |name|
          shown = body.scan(/^powerband_endpoint_#{name}\{\S.*\} (\d+)$/).flatten.map(&:to_i)

          assert_equal [most, ((61 - most)..60).sum], [shown.size, shown.sum]
          all = value(body, "powerband_#{name == 'requests_total' ? name : "request_#{name}"}")
          assert_equal left_out, all.to_i - shown.sum
        end
        assert_equal 72 * most, body.scan(/^powerband_endpoint_.*\{.*endpoint=/).size
        assert_operator body.scan(/^powerband_(?!endpoint_).* \d/).size, :<=, 200
      end
    end
  end

  # docs/metrics.md says how many series a route has.
  def test_opentelemetry_is_an_option
    in_root do |folder|
      record_in(folder) do
        request("PATH_INFO" => "/orders/1") { |_| sleep(0.08).then { [200, {}, []] } }
        request("PATH_INFO" => "/orders/2")
        request("action_dispatch.request.path_parameters" => { controller: "orders", action: "show" })
        Powerband::Native.job_start(nil)
        Powerband::Native.job_finish(true, "HardWorker", false)
      end
      body = get(metrics(opentelemetry: true)).body
      family = body.lines.grep(/^http_server_request_duration_seconds/)
      route = 'http_request_method="GET",http_route="/orders/:id"'

      refute_includes get.body, "http_server"
      assert_equal "2", value(body, "http_server_request_duration_seconds_count{#{route}}")
      assert_includes %w[0 1], value(body, %(http_server_request_duration_seconds_bucket{#{route},le="0.075"}))
      assert_equal 23, family.grep(/\{#{route}[,}]/).size
      assert_equal 23, family.grep(/\{http_route="orders#show"[,}]/).size
      assert_equal 46, family.size, "a job is no request to a server"
      assert_equal "1", value(body, "powerband_jobs_total")
      assert_empty get(metrics(opentelemetry: true, endpoints: 0)).body.lines.grep(/^http_server/)
      assert_equal "", Processes.promtool(body) || skip("promtool is not installed (Debian's package promtool)")
    end
  end

  def test_a_name_has_a_method_or_is_a_route
    labels = ->(name) { Powerband::Metrics::OpenTelemetry.labels(name) }

    assert_equal 'http_route="products#index"', labels["products#index"]
    assert_equal 'http_request_method="GET",http_route="(not found)"', labels["GET (not found)"]
    assert_equal 'http_request_method="_OTHER",http_route="/"', labels["OTHER /"]
    assert_equal 'http_route="LINK /orders"', labels["LINK /orders"]
    assert_equal 'http_route="GET"', labels["GET"]
    assert_equal 'http_request_method="GET",http_route=" /"', labels["GET  /"]
  end

  # The agent writes one counter after the other, and a reader comes between.
  def test_no_bound_has_fewer_than_the_one_below_it
    bounds = lambda do |*up_to|
      row = Array.new(Powerband::FlightFile::ROW, 0)
      [[70, 2], [300, 1]].each { |ms, n| row[Powerband::FlightFile::WALL.begin + Powerband::Native.bucket(ms * 1_000_000)] = n }
      Powerband::FlightLayout::EDGES_NS.keys.zip(up_to) { |name, n| row[Powerband::FlightFile::NAMED.index(name)] = n }
      sums = Powerband::Metrics::Sums.new
      sums.endpoint(:request, "x").add(row, [true] * row.size)
      text = Powerband::Metrics::Text.new
      Powerband::Metrics::OpenTelemetry.write(text, sums, ["x"])
      buckets = text.to_s.scan(/le="([\d.]+)"\} (\d+)/).to_h.transform_values(&:to_i)
      assert_equal buckets.values.sort, buckets.values
      buckets.values_at("0.075", "0.25")
    end

    assert_equal [[1, 2], [2, 2], [0, 2]], [bounds[1, 2], bounds[9, 0], bounds[0, 9]]
  end

  def test_a_switch_that_is_neither
    error = assert_raises(ArgumentError) { metrics(opentelemetry: "false") }
    assert_equal 'opentelemetry: "false" is neither true nor false; give one of them', error.message
  end

  def test_a_number_of_endpoints_that_is_none
    [-1, "many", nil, 2.5].each do |endpoints|
      error = assert_raises(ArgumentError, endpoints.inspect) { metrics(endpoints:) }
      assert_equal "endpoints: #{endpoints.inspect} is not a number of endpoints; give 0 or more, e.g. 20", error.message
    end
    assert_equal 100, metrics(endpoints: "100").instance_variable_get(:@limit)
  end

  def counters(text)
    gauges = text.scan(/^# TYPE (\S+) gauge/).flatten
    all = text.scan(/^(powerband_.+) (\S+)$/).reject { |series, _| gauges.include?(series[/\A\w+/]) }.to_h
    all.transform_values(&:to_r)
  end

  # A thread's times belong to no fiber, and calls are not observed: 0 would be a lie.
  def test_under_fibers_only_what_is_true_of_requests_is_there
    in_root do |folder|
      path = record_in(folder) { request }
      File.binwrite(path, [3].pack("L<"), 124)
      text = get.body

      assert_equal "1", value(text, "powerband_requests_total")
      assert_empty text.lines.grep(/client=|pool_wait|_gc_|state="io"|cpu|server_(?!errors|info)/)
    end
  end

  # The agent writes "?" for what cannot be printed; a newline is another writer's.
  def test_names_are_escaped
    in_root do |folder|
      record_in(folder) do
        request("action_dispatch.request.path_parameters" => { controller: "a\\b", action: "c\"d" })
      end

      assert_equal "1", value(get.body, 'powerband_endpoint_requests_total{endpoint="a\\\\b#c\\"d"}')
      assert_equal 'endpoint="a\\nb"', Powerband::Metrics::Text.labels("endpoint" => "a\nb")
    end
  end

  def test_a_cluster_answers_for_all_its_workers
    PumaServer.run("-w", "2", "-t", "2:2", "-q", app: "metrics.ru") do |server|
      60.times { |n| server.get("/pages/#{n}") }
      texts = Array.new(10) { server.get("/metrics") }
      pages = texts.map { |text| value(text, 'powerband_endpoint_requests_total{endpoint="GET /pages/:id"}') }
      assert_equal ["60"], pages.uniq
      texts.map { |text| counters(text) }.each_cons(2) do |earlier, later|
        earlier.each { |series, number| assert_operator later[series], :>=, number, series }
      end
      assert_equal "2", value(texts.last, "powerband_processes")
      assert_equal "", Processes.promtool(texts.last) || skip("promtool is not installed (Debian's package promtool)")
    end
  end
end
