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
          CarriedRow.number(line.to_s.chomp[/\Ageneration (.*)\z/, 1])
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
            " #{word}=#{CarriedRow.buckets_text(row[places])}" if row[places.begin]
          end
          "#{kind}#{pairs(COUNTERS, tally)}#{histograms.join}#{edged(tally)} name=#{escape(name)}"
        end

        # Of those that count the edges, apart.
        def edged(tally)
          row = tally.measuring(Edged::PLACE)
          return if row.empty?

          " #{Edged::SUM}=#{row[Edged::WALL_NS]} #{Edged::WALL}=#{CarriedRow.buckets_text(row[FlightFile::WALL])}"
        end

        def pairs(names, tally)
          (names.zip(tally.to_a) + tally.unknown.to_a).filter_map { |name, value| " #{name}=#{value}" if value }.join
        end

        def add(sums, word, rest)
          case word
          when "process" then CarriedRow.add(sums.process, rest, PROCESS)
          when "totals" then CarriedRow.add(sums.totals, rest, COUNTERS)
          when "request", "job"
            numbers, name = rest.split("name=", 2)
            CarriedRow.add(sums.endpoint(word.to_sym, unescape(name || damaged(rest))), numbers, COUNTERS, HISTOGRAMS)
          else sums.unknown << (rest.empty? ? word : "#{word} #{rest}")
          end
        end

        def damaged(line)
          CarriedRow.damaged(line)
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
