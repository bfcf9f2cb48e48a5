# frozen_string_literal: true

# Makes the root of a cell of script/matrix with mmdebstrap and the machine's own mirror, and installs the gems that Debian does
# not have for it. A root is made anew when its recipe has changed.

require "digest"
require "fileutils"
require "json"
require "open3"
require_relative "matrix_machine"
require_relative "matrix_root"

# A cell with what was given for it: `gems`, files in place of Debian's packages; `ruby`, the prefix of an installed Ruby; `from`,
# a root of Alpine, which is copied.
class Recipe
  MARK = "made-by-script-matrix.json"
  # Whatever mmdebstrap mounts and starts ends with it.
  ALONE = %w[unshare --mount --pid --fork --kill-child --mount-proc].freeze
  INSTALL = %w[--local --no-document --ignore-dependencies --force --bindir /usr/local/bin].freeze

  # Debian's packages of gems that are given, without what they depend on: a newer one would be taken in place of the given.
  REMOVE = <<~'SH'
    dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
      sed -n 's/^installed //p' | xargs --no-run-if-empty dpkg --force-depends --remove
  SH

  attr_reader :cell, :root

  def initialize(cell, base, gems: [], ruby: nil, from: nil)
    @cell = cell
    @gems = gems
    @ruby = ruby
    @from = from
    @root = Root.new(File.join(base, "roots", [cell.name, *(File.basename(ruby) if ruby), *names_of_gems].join("+")))
    @log = File.join(base, "logs", "#{root.name}.log")
  end

  def suite
    @from ? File.read(File.join(@from, "etc/alpine-release")).strip : cell.suite
  end

  def made_of
    @from ? "a copy of #{@from}" : "#{suite}'s packages"
  end

  # Gems that the cell needs and that were not given.
  def missing
    cell.needs - given
  end

  def make
    unless made?
      root.remove
      FileUtils.mkdir_p([File.dirname(root.folder), File.dirname(@log)])
      @from ? checked("cp", "-a", "--one-file-system", "#{@from}/.", root.folder) : bootstrap
      own_ruby
    end
    root.environment = environment
    return if made?

    install_gems
    File.write(mark, text)
  end

  private

  # Not all of many, for the sake of the folder's name.
  def names_of_gems
    names = @gems.map { |file| File.basename(file, ".gem") }
    names.size > 4 ? [names.first, "#{names.size - 1}-more"] : names
  end

  # A root that was given may have changed in any way.
  def made?
    @from.nil? && File.exist?(mark) && File.read(mark) == text
  end

  def mark
    File.join(root.folder, MARK)
  end

  def text
    files = @gems.map { |file| [File.basename(file), Digest::SHA256.file(file).hexdigest] }
    built = @ruby && File.mtime(File.join(@ruby, "bin/ruby")).to_i
    JSON.generate(cell: cell.to_h.except(:rows, *(:newer if cell.newer.empty?)), gems: files, ruby: [@ruby, built])
  end

  def given
    @gems.map { |file| File.basename(file)[/\A(.+)-\d/, 1] }
  end

  # `PACKAGE/SUITE`, but those of a gem that is given.
  def built
    cell.built.reject { |name| given.include?(name[%r{\A[^/]+}].delete_prefix("ruby-")) }
  end

  def bootstrap
    lines = [cell.suite, *cell.sources].map { |suite| "deb #{Machine.mirror} #{suite} main" }
    lines += built.map { |name| "deb-src #{Machine.mirror} #{name[%r{[^/]+\z}]} main" }.uniq
    options = ['APT::Install-Recommends "false"', *Machine.apt_options].map { |line| "--aptopt=#{line}" }
    # Otherwise mmdebstrap takes each package from the newest suite.
    options << "--aptopt=APT::Default-Release \"#{cell.suite}\"" << "--customize-hook=#{install_newer}" unless cell.newer.empty?
    options << "--customize-hook=#{download}" unless built.empty?
    checked(*ALONE, "mmdebstrap", "--mode=root", "--variant=apt", "--format=directory", *options,
            "--include=#{cell.packages.join(',')}", cell.suite, root.folder, *lines)
  end

  # mmdebstrap runs the hooks with the new root as $1.
  def install_newer
    "chroot \"$1\" apt-get install --quiet=2 --yes --target-release #{cell.sources.first} #{cell.newer.join(' ')}"
  end

  def download
    "mkdir \"$1/source\" && cd \"$1/source\" && " \
      "APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get source --quiet=2 --download-only #{built.join(' ')}"
  end

  # First on PATH, under the names that it has. Debian's programs in Ruby name Debian's.
  def own_ruby
    return unless @ruby || cell.ruby != "ruby"

    names = File.join(root.folder, Root::NAMES)
    FileUtils.mkdir_p(names)
    @ruby ? copy_ruby(names) : FileUtils.ln_s("/usr/bin/#{cell.ruby}", File.join(names, "ruby"))
    File.write(File.join(names, "rackup"), "#!/bin/sh\nexec ruby /usr/bin/rackup \"$@\"\n", perm: 0o755)
  end

  def copy_ruby(names)
    FileUtils.mkdir_p(File.join(root.folder, @ruby))
    checked("cp", "-a", "#{@ruby}/.", File.join(root.folder, @ruby))
    Dir.children(File.join(@ruby, "bin")).each { |name| FileUtils.ln_s(File.join(@ruby, "bin", name), File.join(names, name)) }
  end

  # Debian's gems in Ruby alone serve every Ruby; those in C are for Debian's.
  def environment
    return {} unless @ruby || cell.ruby != "ruby"

    program = @ruby ? "#{@ruby}/bin/ruby" : "/usr/bin/#{cell.ruby}"
    ask = "print (Gem.path | %w[/usr/share/rubygems-integration/all]).join(':')"
    path, status = Open3.capture2({ "GEM_PATH" => nil, "HOME" => "/root" }, "chroot", root.folder, program, "-e", ask)
    raise NoRoot, "#{program} does not run in #{root.folder}" unless status.success?

    { "GEM_PATH" => path }
  end

  def install_gems
    FileUtils.mkdir_p(File.join(root.folder, "source"))
    built.each { |name| install_built(name[%r{\A[^/]+}]) }
    return if @gems.empty?

    inside("sh", "-ec", REMOVE, "sh", *given.flat_map { |name| [name, "ruby-#{name}"] })
    FileUtils.cp(@gems, File.join(root.folder, "source"))
    inside("ruby", "-S", "gem", "install", *INSTALL, *@gems.map { |file| File.basename(file) })
  end

  # Many gemspecs ask git for the files.
  def install_built(package)
    inside("sh", "-ec", <<~SH)
      dpkg-source --no-check --extract #{package}_*.dsc #{package}
      cd #{package}
      git init --quiet && git add --all --force
      ruby -S gem build --output ../#{package}.gem *.gemspec
      ruby -S gem install #{INSTALL.join(' ')} ../#{package}.gem
    SH
  end

  def inside(*words)
    output, status = root.run(*words, limit_s: 600, chdir: "/source")
    File.write(@log, output, mode: "a")
    raise NoRoot, "#{words.first(4).join(' ').lines.first} failed; see #{@log}" unless status&.success?
  end

  def checked(*words)
    pid = Process.spawn(*words, in: File::NULL, out: [@log, "a"], err: %i[child out])
    _, status = Process.wait2(pid)
    pid = nil
    return if status.success?

    said = File.readlines(@log, chomp: true)
    raise NoRoot, "#{(words - ALONE).first} failed: #{said.grep(/^E:|rror/).first || said.last}; see #{@log}"
  rescue SignalException
    Root.end_namespace(pid)
    raise
  end
end
