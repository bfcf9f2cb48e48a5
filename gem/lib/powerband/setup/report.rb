# frozen_string_literal: true

module Powerband
  class Setup
    # What this process did, for whoever measures it, in a file of its own beside the flight files (contract/setup-v1.md).
    # JSON is written by hand: a version of the json gem that we load may not be the application's.
    module Report
      VERSION = 1
      NEW = File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW

      class << self
        def write(root, fields)
          start = start_ticks
          path = File.join(folder(root), "setup-#{Process.pid}-#{start}.json")
          own = { v: VERSION, pid: Process.pid, start_ticks: start, **fields }
          temporary = "#{path}-#{Random.urandom(4).unpack1('H8')}"
          File.open(temporary, NEW, 0o600) { |file| file.write(json(own), "\n") }
          File.rename(temporary, path)
        end

        def json(value)
          case value
          when Hash then "{#{value.map { |name, item| "#{quoted(name.to_s)}:#{json(item)}" }.join(',')}}"
          when Array then "[#{value.map { |item| json(item) }.join(',')}]"
          when String then quoted(value)
          else value.to_s
          end
        end

        private

        def quoted(text)
          text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
          "\"#{text.gsub(/["\\\x00-\x1f]/) { |char| format('\u%04x', char.ord) }}\""
        end

        # Field 22; the command, which is field 2, may hold spaces and brackets.
        def start_ticks
          File.read("/proc/self/stat").rpartition(")").last.split[19].to_i
        end

        # As ext/powerband/folder.c makes it: a root that users share, and below it a private folder for each.
        def folder(root)
          make_root(root)
          path = File.join(root, Process.euid.to_s)
          make(path, 0o700)
          stat = File.lstat(path)
          raise "#{path} is not a folder, private (0700) and this user's own" unless private?(stat)

          path
        end

        def private?(stat)
          stat.directory? && stat.owned? && (stat.mode & 0o077).zero?
        end

        def make_root(root)
          return if File.directory?(root)

          parent = File.dirname(root)
          missing = [parent].tap { |list| list.unshift(File.dirname(list.first)) until File.directory?(list.first) }
          missing.each { |path| make(path, 0o755) }
          File.chmod(0o1777, root) if make(root, 0o755)
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
  end
end
