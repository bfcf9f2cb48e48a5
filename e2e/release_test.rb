# frozen_string_literal: true

require "fileutils"
require "json"
require "minitest"
require "open3"
require "tmpdir"

# script/release in a clone, without a network. `make package`, which takes many minutes, is a stand-in, as is cargo-cyclonedx.
class ReleaseTest < Minitest::Test
  parallelize_me!

  ROOT = File.expand_path("..", __dir__)
  NEXT = "9.8.7"

  def setup
    @dir = Dir.mktmpdir("powerband-release-")
    @clone = File.join(@dir, "clone")
    run_to_end("git", "clone", "--quiet", ROOT, @clone, chdir: @dir)
    # What is tested is the working tree's script.
    %w[release release_tools.rb].each { |name| FileUtils.cp(File.join(ROOT, "script", name), File.join(@clone, "script", name)) }
    # Nothing is unreleased right after a release.
    File.write(File.join(@clone, "CHANGELOG.md"), "# Changelog\n\n## [Unreleased]\n\n- What is new.\n")
    commit
    @old = version
  end

  def teardown
    FileUtils.rm_rf(@dir)
  end

  def test_preparing_sets_the_version_everywhere_and_cuts_the_changelog
    out, err, status = release("prepare", NEXT)
    assert_equal ["", 0], [err, status.exitstatus], out
    assert_equal NEXT, version
    assert_equal NEXT, read("Cargo.toml")[/^version = "(.+)"/, 1]
    %w[Cargo.lock fuzz/Cargo.lock].each { |lock| assert_equal [NEXT], versions_of_our_crates(lock), lock }
    assert_match(/\A## \[Unreleased\]\n\n## \[9\.8\.7\] - \d{4}-\d\d-\d\d\n\n\S/, read("CHANGELOG.md")[/^## .*/m])
    %w[README.md docs/install.md].each do |page|
      assert_includes read(page), "powerband_#{NEXT}_amd64.deb"
      refute_match(/powerband[-_]#{Regexp.escape(@old)}/, read(page), page)
    end
    assert_includes read("docs/agent.md"), "one version number (#{NEXT})"
    assert_equal "", run_to_end("git", "diff", "--name-only", "--", "contract", "crates", "gem/test")
  end

  def test_other_crates_keep_their_versions
    release("prepare", NEXT)
    changed = run_to_end("git", "diff", "--unified=0", "Cargo.lock", "fuzz/Cargo.lock").lines.grep(/^[+-][^+-]/)
    assert_equal ["+version = \"#{NEXT}\"\n", "-version = \"#{@old}\"\n"], changed.uniq.sort
  end

  def test_what_cannot_be_prepared_is_refused_and_nothing_is_changed
    assert_refused(/VERSION = "1\.0" is no version; give three numbers/, "prepare", "1.0")
    assert_refused(/VERSION = 0\.0\.1 is below today's #{@old}/, "prepare", "0.0.1")
    File.write(File.join(@clone, "new"), "")
    assert_refused(/the working tree has changes.*\?\? new/m, "prepare", NEXT)
    FileUtils.rm(File.join(@clone, "new"))
    File.write(File.join(@clone, "docs/agent.md"), "")
    commit
    assert_refused(%r{docs/agent\.md does not name #{@old} where it should}, "prepare", NEXT)
    run_to_end("git", "reset", "--quiet", "--hard", "HEAD~1")
    assert_equal "", run_to_end("git", "status", "--porcelain")
    prepared
    assert_refused(/CHANGELOG\.md has an entry for 9\.8\.7 already/, "prepare", NEXT)
    assert_refused(/nothing below ## \[Unreleased\]/, "prepare", "9.8.8")
  end

  def test_nothing_is_changed_where_a_lock_cannot_follow
    File.write(File.join(@clone, "fuzz/Cargo.toml"), "no manifest")
    commit
    _, err, status = release("prepare", NEXT)
    assert_equal 1, status.exitstatus, err
    assert_match(%r{cargo update .*fuzz/Cargo\.toml failed}, err)
    assert_equal "", run_to_end("git", "status", "--porcelain")
  end

  def test_a_release_without_an_entry_a_clean_tree_or_the_right_tag_is_refused
    assert_refused(%r{CHANGELOG\.md has no entry for #{@old}; run script/release prepare #{@old}}, "build")
    assert_refused(/has no entry for #{@old}/, "notes")
    prepared
    run_to_end("git", "tag", "v1.1.1")
    assert_refused(/the tag v1\.1\.1, but its version is 9\.8\.7/, "build")
    run_to_end("git", "tag", "--delete", "v1.1.1")
    File.write(File.join(@clone, "README.md"), "")
    assert_refused(/the working tree has changes.*README\.md/m, "build")
    assert_refused(/CPU = "sparc" is unknown; give x86_64 or aarch64/, "build", "sparc")
    assert_refused(%r{usage: script/release prepare VERSION}, "publish")
  end

  def test_two_builds_of_the_same_bytes_are_published_with_checksums_contents_and_licences
    prepared
    stand_ins("echo $CPU >target/package/powerband-$CPU.gem")
    out, err, status = release("build")
    assert_predicate status, :success?, out + err
    folder = File.join(@clone, "target/release-#{NEXT}")
    boms = %w[aarch64 x86_64].map { |cpu| "powerband-#{NEXT}-#{cpu}-linux.cdx.json" }
    packages = %w[powerband-aarch64.gem powerband-x86_64.gem]
    assert_equal [*packages, *boms, "BUILT-WITH.txt", "SHA256SUMS", "THIRD-PARTY.txt"].sort, Dir.children(folder).sort
    run_to_end("sha256sum", "--check", "--quiet", "SHA256SUMS", chdir: folder)
    assert_equal [File.join(@clone, "target/release-#{NEXT}")], Dir[File.join(@clone, "target/release-*")]
    assert_contents File.read(File.join(folder, boms.first))
    assert_refused(/release-9\.8\.7 exists already; remove it/, "build")
  end

  def test_builds_that_differ_are_kept_and_the_file_is_named
    prepared
    stand_ins("pwd >target/package/folder.gem; echo same >target/package/same.gem")
    _, err, status = release("build", "x86_64")
    assert_equal 1, status.exitstatus
    assert_match(/two builds of the same commit differ in folder\.gem; they are in (\S+) and (\S+)$/, err)
    kept = err[/they are in (.+)$/, 1].split(" and ")
    kept.each { |folder| assert_path_exists File.join(folder, "target/package/folder.gem") }
    refute_path_exists File.join(@clone, "target/release-#{NEXT}")
  end

  def test_the_notes_are_the_entry_of_the_changelog
    entry = read("CHANGELOG.md")[/^## \[Unreleased\]\n+(.*)/, 1]
    prepared
    out, = release("notes")
    assert_equal entry, out.lines.first.chomp
    refute_match(/^## /, out)
  end

  private

  # `package` is shell for what `make package` does, in its folder.
  def stand_ins(package)
    @bin = FileUtils.mkdir_p(File.join(@dir, "bin")).first
    script("make", %(export "$2"; mkdir -p target/package; #{package}))
    script("cargo-cyclonedx", <<~'BASH')
      echo '{"components": [{"bom-ref": "path+file://FOLDER/crates/cli"}]}' | sed "s#FOLDER#$PWD#" >crates/cli/contents.json
    BASH
    script("aarch64-linux-gnu-gcc", "echo gcc 12")
  end

  def script(name, body)
    File.write(File.join(@bin, name), "#!/bin/bash\n#{body}\n", perm: 0o755)
  end

  def assert_contents(json)
    names = JSON.parse(json).fetch("components").map { |component| component.fetch("bom-ref") }
    assert_equal "path+file:///powerband/crates/cli", names.first
    assert_includes names.join(" "), "pkg:npm/%40observablehq/plot@"
    refute_includes names.join(" "), "playwright"
  end

  def assert_refused(message, *arguments)
    out, err, status = release(*arguments)
    assert_equal ["", 2], [out, status.exitstatus], err
    assert_match(/\Arelease: /, err)
    assert_match message, err
  end

  def prepared
    release("prepare", NEXT)
    commit
  end

  def commit
    run_to_end("git", "add", "--all")
    author = ["-c", "user.name=Test", "-c", "user.email=test@powerband.invalid"]
    run_to_end("git", *author, "commit", "--quiet", "--allow-empty", "--message", "Test")
  end

  def release(*arguments)
    env = { "PATH" => [@bin, ENV.fetch("PATH")].compact.join(":"), "CARGO_TARGET_DIR" => nil, "CARGO_NET_OFFLINE" => "true" }
    Open3.capture3(env, File.join(@clone, "script/release"), *arguments, chdir: @clone)
  end

  def run_to_end(*command, chdir: @clone)
    out, err, status = Open3.capture3(*command, chdir: chdir)
    assert_predicate status, :success?, "#{command.join(' ')}\n#{out}#{err}"
    out
  end

  def read(name)
    File.read(File.join(@clone, name))
  end

  def version
    read("gem/lib/powerband/version.rb")[/VERSION = "(.+)"/, 1]
  end

  def versions_of_our_crates(lock)
    read(lock).scan(/name = "powerband-(?!fuzz).+"\nversion = "(.+)"/).flatten.uniq
  end
end
