# frozen_string_literal: true

require_relative "support/powerband"
require_relative "support/servers"

# An application behind a proxy that terminates TLS, asked without the proxy: `config.force_ssl` redirects all of it. What
# `compare` makes of it is in arms_test.rb.
class HttpsTest < PowerbandTest
  parallelize_me!

  include Servers

  WORKLOAD = <<~TOML
    [[request]]
    path = "/"
    weight = 3
    [[request]]
    path = "/account"
    %s
  TOML

  def test_load_sends_what_the_proxy_would_and_says_so
    site = puma(File.join(APPS, "https_only"))
    document, err = loaded(site, "", "--assert", "errors=0%")
    assert_match(/X-Forwarded-Proto: https is sent, .*config\.force_ssl.*the run starts again/, err)
    assert_equal [100, 100], document["counts"].values_at("asked", "ok"), "what was redirected is not counted"
    sending = { "keep_alive" => false, "headers" => ["Authorization"], "forwarded_https" => true }
    assert_equal sending, document["asked"]["sending"]
    assert_equal [[302, "/login?…", 25, false]], redirects(document)
    said = document["warnings"].join
    assert_match(%r{100\.0 % of the successful answers of GET /account are redirects \(302 to /login\?…\)}, said)

    assert_equal [3, "unknown"], [document["exit_code"], document.dig("assertions", 0, "outcome")]
    assert_match(%r{errors=0% unknown: .*answers of GET /account are redirects}, err)
    assert_match(/expect it with status = 302 in the workload file/, err, "the remedy, with --quiet too")

    expected, = loaded(site, "status = 302", "--header", "X-Forwarded-Proto: https", "--assert", "errors=0%")
    assert_equal "holds", expected.dig("assertions", 0, "outcome")
    assert_equal [[302, "/login?…", 25, true]], redirects(expected)
    assert_empty expected["warnings"]
    refute_includes [document, expected].join, "s3cret"
    pages = ["status = 302", ""].map do |status|
      File.write(workload, format(WORKLOAD, status))
      powerband("load", site.url, "--workload", workload, "-n", 100, "--quiet", "-H", "Authorization: Bearer s3cret").out
    end
    refute_match(/^request, response in ms .*redirects/, pages.first, "an expected redirect is no news")
    page = pages.last
    assert_match(/^Connections: one per request\. X-Forwarded-Proto: https is sent/, page)
    assert_match(%r{^request, response in ms +scheduled +failed +redirects .*^GET /account +25 +0 +100\.00 %}m, page)
    stop(site)
  end

  # The path is known once a row of the data is filled in.
  def test_pages_of_many_records_alone_are_enough_to_see_it
    site = puma(File.join(APPS, "https_only"))
    File.write(File.join(@dir, "ids.csv"), "id\n7\n8\n")
    File.write(workload, "[[request]]\npath = \"/products/{{id}}\"\ndata = \"ids.csv\"\n")
    ended = powerband("load", site.url, "--workload", workload, "-n", 20, "-H", "Authorization: Bearer s3cret", "--json",
                      "--quiet")
    document = JSON.parse(ended.out)
    assert_equal [20, true], [document.dig("counts", "ok"), document.dig("asked", "sending", "forwarded_https")], ended.err
    assert_empty redirects(document)
    stop(site)
  end

  def test_a_redirect_that_comes_too_late_is_no_answer_and_has_the_remedy
    # It answers 502 in the first seconds, as a proxy does while the server boots.
    site = puma(File.join(APPS, "https_only"), env: { "BOOTS_FOR" => "3" })
    ended = powerband("load", site.url, "--rate", "20", "--duration", "5s", "--quiet", "-H", "Authorization: Bearer s3cret")
    assert_equal 3, ended.code, ended.to_s
    assert_match(/did so too late for the run to start again: repeat it with --header "X-Forwarded-Proto: https"/, ended.err)
    assert_match(/do not quote these figures: they include redirects to https/, ended.err)
    refute_match(/also where X-Forwarded-Proto/, ended.to_s)
    stop(site)
  end

  private

  def workload = File.join(@dir, "workload.toml")

  def loaded(site, status = "", *words)
    File.write(workload, format(WORKLOAD, status))
    ended = powerband("load", site.url, "--workload", workload, "-n", 100, "-H", "Authorization: Bearer s3cret", "--json",
                      "--quiet", *words)
    assert_includes [0, 3], ended.code, ended.to_s
    assert_valid_document(ended.out, "load-v1")
    [JSON.parse(ended.out), ended.err]
  end

  def redirects(document)
    found = document["endpoints"].flat_map { |page| page["redirects"].to_a }
    found.map { |redirect| redirect.values_at("status", "location", "answers", "expected") }
  end
end
