# frozen_string_literal: true

module Powerband
  class Setup
    # What this process did, for the program that measures it, in a file of its own next to the flight files
    # (contract/setup-v1.md). JSON is written by hand: a version of the json gem that we load may not be the
    # application's.
    module Report
      VERSION = 1
      NEW = File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW

      class << self
        def write(folder, fields)
          start = Liveness.start_of("self")
          path = File.join(folder.made, "setup-#{Process.pid}-#{start}.json")
          own = { v: VERSION, pid: Process.pid, start_ticks: start, **origin, **fields }
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

        def origin
          here = Liveness.here
          { pid_namespace: here.namespace, boot_id: here.boot.unpack1("H*") }
        end
      end
    end
  end
end
