# frozen_string_literal: true

# The cells of script/matrix, and what is run on each: tests of gem/test and e2e that exist anyway. A row is one server or library
# in a cell, a step one column of the table.

# `suite`: the Debian release, nil where a root must be given; `sources`: other suites, of which named packages are installed;
# `newer`: packages of the first of them, with what they need of it; `built`: gems that are compiled from Debian's packages of
# sources, `PACKAGE/SUITE`; `needs`: gems that must be given; `ruby`: its name on PATH, nil where it must be given.
Cell = Struct.new(:name, :suite, :packages, :rows, :sources, :newer, :built, :needs, :ruby, keyword_init: true) do
  def initialize(packages: [], sources: [], newer: [], built: [], needs: [], ruby: "ruby", **rest)
    super
  end

  # Whether nothing must be given for it.
  def self_sufficient?
    suite && ruby && needs.empty?
  end
end

# Tests of some files, or the part of them whose names match `only`.
Tests = Struct.new(:files, :only, :limit_s) do
  def words
    loaded = files.map { |file| "-r./#{file}.rb" }
    chosen = only ? ["-n", "/#{only}/"] : []
    ["ruby", "-W0", "-Igem/test", "-Igem/lib", "-rminitest/autorun", *loaded, "-e", "", "--", "-v", *chosen]
  end

  def outcome(output, status)
    MinitestOutput.new(output, status).outcome
  end
end

NEWER_GLIBC = "the binary is for a newer glibc; `make static` builds one for any"

# A command with the exit codes that it may have and the words that it must print.
Command = Struct.new(:words, :codes, :says, :limit_s) do
  def outcome(output, status)
    return Outcome.new(1, [], []) if codes.include?(status.exitstatus) && output.match?(says)
    return Outcome.new(0, [NEWER_GLIBC], []) if output.match?(/GLIBC_\S+' not found/)

    Outcome.failed("exit code #{status.exitstatus || status}: #{output.lines.map(&:strip).reject(&:empty?).last}")
  end
end

def gem_tests(*names, only: nil)
  Tests.new(names.map { |name| "gem/test/#{name}_test" }, only, 300)
end

def e2e_tests(*names, only:, limit_s: 300)
  Tests.new(names.map { |name| "e2e/#{name}_test" }, only, limit_s)
end

COLUMNS = ["agent", "stop and start", "settings read back", "knobs", "short tune"].freeze

TRUTH = %w[truth queue_time gc threads locks bursts flight fibers trace].freeze

OLD_RUBY = "a Ruby that is too old"

# Of `tune`, 1: on this machine no configuration keeps the objective.
ANSWERS = [0, 1].freeze

# Packages, installed as a user installs them, and the storefront tuned by what they bring. No step uses an agent that another one
# compiled.
def tunes_once_installed(*ways)
  tuned = "powerband tune --quick --runs /tmp/runs"
  ways.map do |way|
    words = ["env", "XDG_CACHE_HOME=/tmp/cache", "sh", "-ec", way.sub("TUNE", tuned)]
    Command.new(words, ANSWERS, /^Predicted and measured$/, 600)
  end
end

# The only step that installs into the kept root; removed before and after, because a step that takes too long is ended at once.
FROM_DEB = <<~'SH'
  purge() { dpkg --purge powerband >/dev/null 2>&1; }
  purge
  trap purge EXIT
  dpkg --install packages/*.deb
  cd examples/storefront
  /usr/bin/TUNE
SH
FROM_TARBALL = <<~'SH'
  tar -xzf packages/*.tar.gz -C /tmp
  cd examples/storefront
  exec /tmp/powerband-*/bin/TUNE
SH
# The storefront, with a gem of ours in its bundle.
def bundled(gem)
  <<~SH
    export GEM_HOME=/tmp/gems
    unset POWERBAND_BINARY
    cp -r examples/storefront /tmp/shop
    mkdir -p /tmp/shop/vendor/cache
    cp packages/#{gem} /tmp/shop/vendor/cache/
    cd /tmp/shop
    echo 'gem "powerband", group: :development, require: false' >>Gemfile
    rm -f Gemfile.lock
    bundle install --local --no-cache
    test "$(bundle exec sh -c 'command -v powerband')" = /tmp/gems/bin/powerband
  SH
end
FROM_BUNDLE = "#{bundled('powerband-*-linux.gem')}exec bundle exec TUNE\n".freeze
# The gem that has the agent alone, compiled as it is installed, and the program of the tarball.
FROM_SOURCE_GEM = <<~SH.freeze
  tar -xzf packages/*.tar.gz -C /tmp
  #{bundled('powerband-*[0-9].gem').chomp}
  bundle exec ruby -e 'require "powerband"; Powerband::Native.available? || abort("the agent is not there")'
  POWERBAND_BINARY=$(echo /tmp/powerband-*/bin/powerband) exec bundle exec TUNE
SH
NO_DPKG = "packages without dpkg"

# The row of a server whose processes have one thread.
def of_one_thread(name)
  { "agent" => gem_tests(name),
    "settings read back" => e2e_tests("servers", only: name),
    "knobs" => gem_tests("setup_servers", only: name),
    "short tune" => e2e_tests("long/one_request_a_process", only: name, limit_s: 480) }
end

ROWS = {
  "puma" => {
    "agent" => gem_tests(*TRUTH, "puma", "server_spans"),
    "stop and start" => [gem_tests("puma_restarts", "puma_draw"),
                         e2e_tests("inject", only: "plain_rack|exit_code|signal|environment|not_there")],
    "settings read back" => e2e_tests("puma_configuration", "arms", only: "Puma|rehearsal|statements_of_puma"),
    "knobs" => [gem_tests("setup_puma", "heap"), e2e_tests("environment", only: "two_env|its_own|another|not_take")],
    "short tune" => e2e_tests("quick", only: "one_candidate", limit_s: 420)
  },
  "rails" => {
    "agent" => gem_tests("railtie", "sql", "pools", "storefront_calls"),
    "short tune" => Command.new(%w[powerband tune --quick --config examples/storefront/powerband.toml], ANSWERS,
                                /^Predicted and measured$/, 600)
  },
  "unicorn" => of_one_thread("unicorn"),
  "passenger" => of_one_thread("passenger"),
  "sidekiq" => { "agent" => gem_tests("sidekiq") },
  "packages" => {
    "agent" => e2e_tests("packages", only: "gem|bundle|tarball|program|debian|bytes", limit_s: 600),
    "short tune" => tunes_once_installed(FROM_DEB, FROM_TARBALL, FROM_BUNDLE, FROM_SOURCE_GEM)
  },
  NO_DPKG => { "short tune" => tunes_once_installed(FROM_TARBALL, FROM_BUNDLE, FROM_SOURCE_GEM) },
  # Debian has neither.
  "pitchfork" => of_one_thread("pitchfork"),
  "falcon" => of_one_thread("falcon"),
  # A Ruby for which the agent is not made: both parts say so.
  OLD_RUBY => {
    "agent" => Command.new(%w[ruby gem/ext/powerband/build.rb], [1], /3\.2 or newer is needed/, 60),
    "stop and start" => Command.new(%w[powerband run -- ruby -e 1], [2], /is too old: the agent needs 3\.2 or newer/, 60)
  }
}.freeze

PACKAGED = ["packages", NO_DPKG].freeze

COMPILER = %w[build-essential ca-certificates iproute2 openssl procps].freeze
RUBY = %w[ruby ruby-dev ruby-minitest].freeze
# What Puma's tests need; `puma` itself is Debian's unless the cell has another one.
AROUND_PUMA = [*COMPILER, *RUBY, "ruby-rackup", "libjemalloc2"].freeze
PUMA = [*AROUND_PUMA, "puma"].freeze
SERVERS = PUMA + %w[ruby-rails ruby-sqlite3 unicorn nginx-light apache2 libapache2-mod-passenger ruby-sidekiq ruby-redis-client
                    ruby-redis redis-server ruby-faraday ruby-dalli memcached bundler]
SERVED = %w[puma rails unicorn passenger sidekiq packages].freeze
# Minitest 6 has its mocks in another package.
MINITEST6 = %w[ruby-minitest-mock].freeze
# Rails 8.1 needs it, where its gems are given.
RAILS8 = %w[ruby-action-text-trix].freeze
# To compile Puma.
FROM_SOURCE = %w[git libssl-dev].freeze

STOREFRONT = [*RUBY, "puma", "ruby-rackup", "ruby-rails", "ruby-sqlite3", "bundler"].freeze

# What a Ruby without a shared library is linked with.
LINKED = %w[zlib1g-dev libcrypt-dev libgmp-dev libyaml-0-2 libffi8].freeze
# What Falcon needs, of what Debian has.
FALCON = %w[ruby-async-http ruby-async-service ruby-async-container ruby-protocol-rack ruby-localhost ruby-samovar bundler].freeze

CELLS = [
  Cell.new(name: "debian12", suite: "bookworm", packages: [*COMPILER, *RUBY, "puma"], rows: [OLD_RUBY]),
  # Debian 12's Ruby is too old: with the next release's, as script/bootstrap installs it.
  Cell.new(name: "debian12-ruby3.3", suite: "bookworm", sources: ["trixie"], packages: COMPILER, newer: STOREFRONT,
           rows: ["packages"]),
  Cell.new(name: "debian13", suite: "trixie", packages: SERVERS, rows: SERVED),
  Cell.new(name: "debian13-puma5", suite: "trixie", packages: [*AROUND_PUMA, "ruby-nio4r", *FROM_SOURCE],
           built: ["puma/bookworm"], rows: ["puma"]),
  Cell.new(name: "testing-puma", suite: "testing", packages: PUMA + MINITEST6 + FROM_SOURCE, rows: ["puma"]),
  Cell.new(name: "testing", suite: "testing", packages: SERVERS + MINITEST6 + RAILS8, rows: SERVED - ["puma"]),
  Cell.new(name: "unstable", suite: "unstable", packages: SERVERS + MINITEST6, rows: SERVED),
  Cell.new(name: "experimental-ruby3.4", suite: "unstable", sources: ["experimental"], ruby: "ruby3.4", needs: %w[nio4r puma],
           packages: AROUND_PUMA + MINITEST6 + FROM_SOURCE + %w[ruby3.4/experimental ruby3.4-dev/experimental], rows: ["puma"]),
  Cell.new(name: "others", suite: "testing", needs: %w[pitchfork falcon async-utilization async-http-cache],
           packages: PUMA + MINITEST6 + FROM_SOURCE + FALCON, rows: %w[pitchfork falcon]),
  Cell.new(name: "own-ruby", suite: "trixie", ruby: nil, needs: %w[nio4r puma],
           packages: AROUND_PUMA + FROM_SOURCE + LINKED, rows: ["puma"]),
  Cell.new(name: "alpine", suite: nil, rows: ["puma", "rails", NO_DPKG])
].freeze
