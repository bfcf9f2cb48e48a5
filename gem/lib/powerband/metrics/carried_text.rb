# frozen_string_literal: true

module Powerband
  class Metrics
    # The text of the file `carried`: one line for the sums of each application, of each endpoint, and so on.
    module CarriedText
      COUNTERS = FlightFile::NAMED.map(&:to_s).freeze
      HISTOGRAMS = { "wall" => FlightFile::WALL, "gvl_wait" => FlightFile::GVL_WAIT,
                     "queue" => FlightFile::QUEUE }.freeze
      PROCESS = FlightFile::Process.members.map(&:to_s).freeze
      ESCAPES = { "\\" => "\\\\", "\n" => "\\n" }.freeze
      NUMBER = /\A\d{1,20}\z/

      class << self
        def format(carried)
          lines = [Carried::FIRST, "generation #{carried.generation}"]
          lines += carried.files.map { |name| "file #{escape(name)}" }
          carried.applications.each { |name, sums| lines << "application #{escape(name)}" << application(sums) }
          "#{lines.join("\n")}\n"
        end

        def parse(text)
          first, second, *lines = lines_of(text)
          damaged(first) unless first == Carried::FIRST

          files, others = lines.partition { |line| line.start_with?("file ") }
          Carried.new(generation(second), files.map { |line| unescape(line.delete_prefix("file ")) }, applications(others))
        end

        def generation(line)
          number(line.to_s.chomp[/\Ageneration (.*)\z/, 1])
        end

        private

        def lines_of(text)
          damaged(text.lines.find { |line| !line.valid_encoding? }) unless text.valid_encoding?
          damaged(text.lines.last) unless text.end_with?("\n")
          text.split("\n")
        end

        def application(sums)
          lines = ["process#{pairs(PROCESS, sums.process)}", "totals#{pairs(COUNTERS, sums.totals)}"]
          sums.endpoints.each { |kind, names| names.each { |name, tally| lines << endpoint(kind, name, tally) } }
          lines + sums.unknown
        end

        def applications(lines)
          sums = nil
          lines.each_with_object({}) do |line, found|
            Pace.give_way
            word, rest = line.split(" ", 2)
            if word == "application"
              sums = (found[unescape(rest.to_s)] = Sums.new)
            else
              add(sums || damaged(line), word, rest.to_s)
            end
          end
        end

        def endpoint(kind, name, tally)
          row = tally.to_a
          histograms = HISTOGRAMS.filter_map do |word, places|
            next unless row[places.begin]

            counts = row[places].each_with_index.filter_map { |n, bucket| "#{bucket}:#{n}" if n.positive? }
            " #{word}=#{counts.join(',')}"
          end
          "#{kind}#{pairs(COUNTERS, tally)}#{histograms.join} name=#{escape(name)}"
        end

        def pairs(names, tally)
          (names.zip(tally.to_a) + tally.unknown.to_a).filter_map { |name, value| " #{name}=#{value}" if value }.join
        end

        def add(sums, word, rest)
          case word
          when "process" then tally(sums.process, pairs_of(rest), PROCESS)
          when "totals" then tally(sums.totals, pairs_of(rest), COUNTERS)
          when "request", "job"
            numbers, name = rest.split("name=", 2)
            tally(sums.endpoint(word.to_sym, unescape(name || damaged(rest))), pairs_of(numbers), COUNTERS, HISTOGRAMS)
          else sums.unknown << (rest.empty? ? word : "#{word} #{rest}")
          end
        end

        def pairs_of(text)
          text.split.to_h { |pair| pair.split("=", 2).then { |key, value| [key, value || damaged(pair)] } }
        end

        def tally(tally, pairs, names, histograms = {})
          row = names.map { |name| number(pairs[name]) if pairs.key?(name) }
          histograms.each_key { |word| row.concat(buckets(pairs[word])) }
          tally.add(row.map(&:to_i), row.map { |value| !value.nil? })
          tally.keep(pairs.except(*names, *histograms.keys))
        end

        def buckets(text)
          return [nil] * FlightFile::BUCKETS unless text

          row = [0] * FlightFile::BUCKETS
          text.split(",").each do |pair|
            bucket, count = pair.split(":", 2).map { |n| number(n) }
            damaged(pair) unless count && bucket < FlightFile::BUCKETS
            row[bucket] += count
          end
          row
        end

        def number(text)
          text&.match?(NUMBER) ? Integer(text, 10) : damaged(text)
        end

        def damaged(line)
          raise Carried::Damaged, "the file of carried sums is damaged at #{line.to_s[0, 80].inspect}; remove it, and counters " \
                                  "begin anew"
        end

        def escape(text)
          text.gsub(/[\\\n]/, ESCAPES)
        end

        def unescape(text)
          text.gsub(/\\[\\n]/) { |pair| pair == "\\n" ? "\n" : "\\" }
        end
      end
    end
  end
end
