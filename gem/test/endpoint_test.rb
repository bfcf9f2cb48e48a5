# frozen_string_literal: true

require "test_helper"
require "support/processes"

class EndpointTest < Minitest::Test
  include Recording

  PARAMETERS = "action_dispatch.request.path_parameters"

  # The command follows the same rule and reads the same cases.
  def test_what_identifies_a_record_or_a_user_becomes_id
    cases = File.readlines(File.join(GEM_ROOT, "../contract/endpoint-names.tsv"), chomp: true).grep_v(/\A#/)

    assert_operator cases.size, :>, 60
    cases.each do |line|
      path, name = line.split("\t")
      assert_equal "GET #{name}", Powerband::Native.path_name("GET", path), path
    end
    { "" => "/", "/orders/7?page=a@b" => "/orders/:id", "/orders/7#a@b" => "/orders/:id", "/caf\xC3\xA9" => "/caf??" }
      .each { |path, name| assert_equal "GET #{name}", Powerband::Native.path_name("GET", path), path }
  end

  def test_no_address_and_no_token_reaches_the_file
    secrets = %w[alice@example.com alice%40example.com x7Gh2Kd9Qw3Er5Ty8Ui1op
                 eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3]
    Dir.mktmpdir do |root|
      Powerband::Native.open(OPTIONS.merge(root:))
      secrets.each { |secret| [200, 500].each { |status| request("PATH_INFO" => "/reset/#{secret}/x") { [status, {}, []] } } }
      bytes = File.binread(Powerband::Native.path)

      assert_includes bytes, "GET /reset/:id/x\0"
      secrets.each { |secret| refute_includes bytes, secret[0, 12] }
    ensure
      Powerband::Native.forget
    end
  end

  def test_names_are_short_and_plain_whatever_the_path
    ["/#{'x' * 5000}", "/\xFF\xFE\n\0".b, "/ü/ß", "/#{'1' * 4000}", "/%", "/%2", "/%#{'25' * 2000}4", "/a%4", "/#{'a-1b' * 999}",
     "/123e4567-e89b-12d3-a456-426614174000".chop, "//#{'/' * 999}", "/.a1", "."].each do |path|
      name = Powerband::Native.path_name("GET", path)
      assert_operator name.bytesize, :<=, 119
      assert name.ascii_only?
      refute_match(/[[:cntrl:]]/, name)
    end
  end

  def test_rails_names_controller_and_action
    flight = record do
      request(PARAMETERS => { controller: "admin/products", action: "show", id: "1" })
      request(PARAMETERS => { controller: :products, action: :index })
      request(PARAMETERS => {}, "PATH_INFO" => "/up")
      request(PARAMETERS => { controller: nil, action: 3 }, "REQUEST_METHOD" => "PATCH", "PATH_INFO" => "/x/1")
    end

    assert_equal ["admin/products#show", "products#index", "GET /up", "PATCH /x/:id"],
                 flight.records.map { |r| flight.endpoint_of(r) }
    assert_equal [1, 1, 1, 5], flight.records.map { |r| r[:method] }
  end

  # A look-up is not for nothing, and once a framework is there it is made for good.
  def test_a_frameworks_names_are_looked_for_once_it_is_loaded
    script = <<~RUBY
      serve = ->(env) { Powerband::Middleware.new(->(_) { [200, {}, []] }).call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" }.merge(env)) }
      rails = { "#{PARAMETERS}" => { controller: "orders", action: "show" } }
      Powerband::Recorder.start(server_name: "test")
      serve.(rails)
      serve.("sinatra.route" => "GET /a/:b")
      ActionDispatch = Sinatra = Module.new
      Powerband::Calls.each_second
      serve.(rails)
      serve.("sinatra.route" => "GET /a/:b")
      print Powerband::Native.path
    RUBY
    Dir.mktmpdir do |root|
      library = ["-I", File.join(GEM_ROOT, "lib"), "-rpowerband"]
      path, words, status = Processes.run_ruby(*library, "-e", script, env: { "POWERBAND_DIR" => root })
      assert_equal ["", true], [words, status.success?]
      flight = FlightReader.new(File.binread(path))
      assert_equal ["GET /", "GET /", "orders#show", "GET /a/:b"], flight.records.map { |r| flight.endpoint_of(r) }
    end
  end

  def test_paths_that_lead_nowhere_share_one_name_for_each_method
    missing = ->(_) { [404, {}, []] }
    flight = record do
      300.times { |n| request("PATH_INFO" => "/wp-login#{n}x.php", &missing) }
      request("PATH_INFO" => "/x", "REQUEST_METHOD" => "POST", &missing)
      request("PATH_INFO" => "/x", "REQUEST_METHOD" => "BREW", &missing)
      request("PATH_INFO" => "/there")
      request(PARAMETERS => { controller: "products", action: "show" }, &missing)
    end

    assert_equal [["GET (not found)", 300], ["OTHER (not found)", 1], ["POST (not found)", 1], ["GET /there", 1],
                  ["products#show", 1]].sort,
                 flight.endpoints.drop(1).map { |e| [e.name, e.counters[:requests]] }.sort
    assert_equal 0, flight[:endpoints_lost]
  end

  # What is redirected or refused before it is routed has any path that a client likes.
  def test_statuses_from_300_to_499_outside_a_route_have_one_name_each
    flight = record do
      [301, 304, 401, 403, 418, 499].each do |status|
        50.times { |n| request("PATH_INFO" => "/#{status}/page#{n}x") { [status, {}, []] } }
      end
      [299, 500].each { |status| request("PATH_INFO" => "/x#{status}x") { [status, {}, []] } }
      request("powerband.endpoint" => "login") { [401, {}, []] }
    end

    assert_equal ["GET (301)", "GET (304)", "GET (401)", "GET (403)", "GET (418)", "GET (499)", "GET /x299x", "GET /x500x",
                  "login"],
                 flight.endpoints.drop(1).map(&:name)
    assert_equal 0, flight[:endpoints_lost]
  end

  # Paths, which clients choose, take half of the places; what the application names takes all that are left.
  def test_when_there_is_no_place_left_the_rest_is_other
    flight = record do
      300.times { |n| request("PATH_INFO" => "/page#{n}x") }
      request("PATH_INFO" => "/page0x")
      300.times { |n| request("powerband.endpoint" => "route #{n}") }
    end
    names = flight.endpoints.map(&:name)

    assert_equal [128, 127], [names.grep(/page/).size, names.grep(/route/).size]
    assert_equal ["(other)", 256], [names.first, names.size]
    assert_equal 172 + 173, flight.endpoints.first.counters[:requests]
    assert_equal 172 + 173, flight[:endpoints_lost]
    assert_equal 2, flight.endpoints.find { |e| e.name == "GET /page0x" }.counters[:requests]
    assert_equal 601, flight.endpoints.sum { |e| e.counters[:requests] }
  end
end
