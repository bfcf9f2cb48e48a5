# frozen_string_literal: true

require "json"
require_relative "support/powerband"
require_relative "support/servers"

# Sessions against a Rails application that none of us wrote: Redmine's login, its token and its cookie.
class LoadSessionsTest < PowerbandTest
  parallelize_me!

  include Servers

  WORKLOAD = File.join(ROOT, "e2e/redmine/logged_in.toml")

  def test_users_log_in_to_redmine_each_with_its_own_token_and_cookie
    site = redmine(threads: 3)
    loop_of = { "open" => ["--rate", "10", "-n", "60"], "closed" => ["-c", "3", "-n", "60"] }
    loop_of.each do |loop, words|
      document = logged_in(site.url, *words)
      assert_empty document["errors"], "#{loop}: #{document['first_error']}"
      pages = document["endpoints"].to_h { |endpoint| [endpoint["name"], endpoint["ok"]] }
      assert_operator pages.fetch("my page"), :>=, 5, "#{loop}: #{pages}"
      assert_operator pages.fetch("login form"), :>=, pages.fetch("my page")
      # The first session of each user is shorter, but for those that have all steps.
      sessions = document["sessions"]
      assert_operator sessions["begun"], :>, sessions["cut_short"], "#{loop}: #{sessions}"
      assert_equal 0, sessions["abandoned"], "#{loop}: #{sessions}"
    end
    stop(site)
  end

  def test_a_post_in_a_session_needs_leave
    ended = powerband("load", "http://127.0.0.1:9/", "--workload", WORKLOAD)
    assert_refused ended, 2, /POST/, /--allow-unsafe/
  end

  private

  # Lateness on a busy host is not what this is about, so the exit code is not either.
  def logged_in(url, *words)
    ended = powerband("load", url, "--workload", WORKLOAD, "--allow-unsafe", "--json", *words)
    refute_equal 2, ended.code, ended.to_s
    JSON.parse(ended.out)
  end
end
