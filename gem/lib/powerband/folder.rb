# frozen_string_literal: true

module Powerband
  # This user's private folder below the root of all files, with the checks of ext/powerband/folder.c. The root may be in
  # /tmp, where others could have put a folder or a link of that name first.
  class Folder
    # The folder cannot be used. The message says why.
    class Distrusted < StandardError; end

    attr_reader :path

    # `default_root`: the root was not configured. It is in /tmp, users share it, and no link to it is followed.
    def initialize(root, default_root: false)
      @root = root
      @default_root = default_root
      @path = File.join(root, Process.euid.to_s)
    end

    # The path, which is made where it is not there.
    def made
      make_root
      make(@path, 0o700)
      checked || raise(Errno::ENOENT, @path)
    end

    # The path of the folder; nil where it is not there. Raises Distrusted where another user has a say in it.
    def checked
      check_root(@default_root ? File.lstat(@root) : File.stat(@root))
      own = File.lstat(@path)
      return @path if own.directory? && own.owned? && (own.mode & 0o077).zero?

      raise Distrusted, "#{@path} is not a private folder (0700) of this user; remove it or set POWERBAND_DIR"
    rescue Errno::ENOENT
      nil
    end

    private

    # A user with the right to rename files in the root could put another folder in the place of ours.
    def check_root(stat)
      raise Distrusted, "#{@root} is not a folder; remove it or set POWERBAND_DIR" unless stat.directory?
      return if stat.sticky?

      unless stat.uid.zero? || stat.owned?
        raise Distrusted, "#{@root} belongs to another user and is not sticky (1777); set POWERBAND_DIR to another folder"
      end
      raise Distrusted, "everybody may write to #{@root} and it is not sticky; run chmod +t on it" if stat.world_writable?
    end

    def make_root
      return if File.directory?(@root)

      parent = File.dirname(@root)
      missing = [parent].tap { |list| list.unshift(File.dirname(list.first)) until File.directory?(list.first) }
      missing.each { |path| make(path, 0o755) }
      File.chmod(0o1777, @root) if make(@root, 0o755) && @default_root
    end

    # True where it was not there.
    def make(path, mode)
      Dir.mkdir(path, mode)
      true
    rescue Errno::EEXIST
      false
    end
  end
end
