# frozen_string_literal: true

require "test_helper"
require "support/processes"

class EndpointTest < Minitest::Test
  include Recording

  PARAMETERS = "action_dispatch.request.path_parameters"

  def test_what_names_one_thing_becomes_id
    {
      "/" => "/", "" => "/", "/orders/12" => "/orders/:id", "/orders/12/items/9.json" => "/orders/:id/items/:id.json",
      "/u/123e4567-e89b-12d3-a456-426614174000" => "/u/:id", "/u/123e4567-e89b-12d3-a456-426614174000.pdf" => "/u/:id.pdf",
      "/blobs/deadbeef01" => "/blobs/:id", "/cafe/decade" => "/cafe/decade", "/v2/x" => "/v2/x",
      "/assets/application-0123456789abcdef.css" => "/assets/application-:id.css",
      "/blobs/abcdefabcdefabcdef" => "/blobs/:id", "/a//b/" => "/a//b/", "/days/2024-01-02" => "/days/:id-:id-:id"
    }.each { |path, name| assert_equal "GET #{name}", Powerband::Native.path_name("GET", path), path }
  end

  def test_names_are_short_and_plain_whatever_the_path
    ["/#{'x' * 5000}", "/\xFF\xFE\n\0".b, "/ü/ß", "/#{'1' * 4000}"].each do |path|
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

  def test_after_255_names_the_rest_is_other
    flight = record do
      300.times { |n| request("PATH_INFO" => "/page#{n}x") }
      request("PATH_INFO" => "/page0x")
    end

    assert_equal 256, flight.endpoints.size
    assert_equal "(other)", flight.endpoints.first.name
    assert_equal 45, flight.endpoints.first.counters[:requests]
    assert_equal 45, flight[:endpoints_lost]
    assert_equal 2, flight.endpoints.find { |e| e.name == "GET /page0x" }.counters[:requests]
    assert_equal 301, flight.endpoints.sum { |e| e.counters[:requests] }
  end
end
