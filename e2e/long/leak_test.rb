# frozen_string_literal: true

require_relative "../support/powerband"

# `powerband leak` on Redmine, as Debian installs it, with a leak that a file of the test puts into a controller, and without.
class LeakRedmineTest < PowerbandTest
  # Loaded as if config.ru began with it: Rails is not there yet.
  SEED = <<~RUBY
    require "active_support/lazy_load_hooks"
    # Notes each issue that is shown, for ever.
    module IssuesShown
      SHOWN = {}

      def show
        super
        SHOWN[SHOWN.size] = { issue: @issue.subject.upcase, at: Time.now }
      end
    end
    ActiveSupport.on_load(:action_controller_base) do
      define_singleton_method(:inherited) do |controller|
        super(controller)
        controller.prepend(IssuesShown) if controller.name == "IssuesController"
      end
    end
  RUBY

  def test_a_seeded_leak_is_found_to_its_line
    seed = File.join(@dir, "issues_shown.rb")
    File.write(seed, SEED)
    document = searched("--env", "POWERBAND_SETUP_REQUIRE=#{seed}", code: 1)
    leak = document["leaks"].fetch(0)
    assert_equal %w[IssuesShown SHOWN], [leak["path"][-2]["what"], leak["path"][-1]["name"]], leak["path"]
    line = SEED.lines.index { |code| code.include?("SHOWN[SHOWN.size]") } + 1
    assert_includes leak["sites"].map { |site| site["made_at"] }, "#{seed}:#{line}"
    assert_equal "#{seed}:#{SEED.lines.index { |code| code.include?('SHOWN = {}') } + 1}", leak["path"][-1]["defined_at"]
    endpoint = leak["endpoints"].fetch(0)
    assert_equal "issues#show", endpoint["name"]
    assert_equal endpoint["requests"], endpoint["leaving"]
    assert_equal 1, document["leaks"].length, document["leaks"].map { |found| found["path"] }
  end

  def test_as_it_is_installed_it_has_no_leak
    assert_empty searched(code: 0)["leaks"]
  end

  private

  def searched(*words, code:)
    ended = powerband("leak", "--config", File.join(ROOT, "e2e/redmine.toml"), *words, "--requests", "1200", "--seed", "1",
                      "--json", "--runs", runs, within: 900)
    assert_equal code, ended.code, ended.to_s
    assert_nothing_left_running
    JSON.parse(ended.out)
  end
end
