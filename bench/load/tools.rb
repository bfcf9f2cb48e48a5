# frozen_string_literal: true

require "json"
require "tempfile"

# What one run of a tool says of itself; nil where it says nothing. Latencies in milliseconds.
Reported = Struct.new(:requests, :seconds, :p99_ms, :p999_ms, :note, :late_p99_us, keyword_init: true)

# The load generators: how to start each, and where its report has the results. All send a request of
# about the same bytes as Powerband's, or the server would have less to do for one than for another.
module Tools
  STAMP = "X-Request-Start: t=1234567890123456"
  CONNECTIONS = 50

  def self.peers
    [Wrk.new, Ab.new, H2load.new, Oha.new]
  end

  # A tool is the command for a closed loop and, where it has one, for a fixed rate.
  class Tool
    def name = self.class.name.split("::").last.downcase
    def version = ""
    def closed(url, seconds) = raise(NotImplementedError)
    # nil: the tool knows no rate.
    def at_rate(_url, _rate, _seconds) = nil
    # The same with more thought for a server that stalls, if the tool has such a mode.
    def corrected(_url, _rate, _seconds) = nil
    def report(output) = raise(NotImplementedError)

    def present? = system("command -v #{program} >/dev/null 2>&1")
    def program = name
  end

  # This project's.
  class Powerband < Tool
    def initialize(program)
      super()
      @program = program
    end

    attr_reader :program

    def version = `#{program} --version`[/[\d.]+\S*/]
    def closed(url, seconds) = base(url, seconds) + ["-c", CONNECTIONS.to_s]

    def at_rate(url, rate, seconds)
      base(url, seconds) + ["--rate", rate.to_s, "--arrivals", "constant", "--max-connections", "4096", "--spin", "200us"]
    end

    def report(output)
      document = JSON.parse(output)
      response = document.fetch("response")
      Reported.new(requests: document.dig("counts", "answered"), seconds: document["window_s"], p99_ms: response["p99_ms"],
                   p999_ms: response["p99_9_ms"], note: document.dig("generator", "trouble"),
                   late_p99_us: document.dig("lateness", "p99_ms")&.*(1000))
    end

    private

    def base(url, seconds) = [program, "load", url, "--duration", "#{seconds}s", "--json", "--quiet", "--keep-alive"]
  end

  # wrk: a closed loop only. A Lua script prints the results, and is not called for a request.
  class Wrk < Tool
    DONE = <<~LUA
      done = function(summary, latency)
        io.write(string.format("asked %d %d %f %f\\n", summary.requests, summary.duration,
                               latency:percentile(99), latency:percentile(99.9)))
      end
    LUA

    def version = `wrk --version 2>&1`[/\d[\d.]+/]

    def closed(url, seconds)
      @script ||= Tempfile.create(["done", ".lua"]).tap { |file| file.write(DONE) && file.close }
      ["wrk", "-t", "1", "-c", CONNECTIONS.to_s, "-d", "#{seconds}s", "-s", @script.path, "-H", STAMP,
       "-H", "User-Agent: powerband/0.1.0", "-H", "Accept: */*", url]
    end

    def report(output)
      requests, us, p99, p999 = output.match(/^asked (\d+) (\d+) ([\d.]+) ([\d.]+)/).captures.map(&:to_f)
      Reported.new(requests: requests.to_i, seconds: us / 1e6, p99_ms: p99 / 1e3, p999_ms: p999 / 1e3)
    end
  end

  # ApacheBench: a closed loop only; whole milliseconds up to p99.
  class Ab < Tool
    def version = `ab -V`[/Version ([\d.]+)/, 1]

    def closed(url, seconds)
      ["ab", "-q", "-k", "-c", CONNECTIONS.to_s, "-t", seconds.to_s, "-n", "5000000", "-H", STAMP, url]
    end

    def report(output)
      Reported.new(requests: output[/Complete requests: +(\d+)/, 1].to_i,
                   seconds: output[/Time taken for tests: +([\d.]+)/, 1].to_f,
                   p99_ms: output[/^ +99% +(\d+)/, 1].to_f, note: "max #{output[/^ *100% +(\d+)/, 1]} ms")
    end
  end

  # h2load over HTTP/1.1. It prints no percentiles.
  class H2load < Tool
    def version = `h2load --version`[%r{nghttp2/(\S+)}, 1]

    def closed(url, seconds)
      ["h2load", "--h1", "-t", "1", "-c", CONNECTIONS.to_s, "-D", seconds.to_s, "-H", STAMP, "-H", "Accept: */*", url]
    end

    def at_rate(url, rate, seconds)
      closed(url, seconds) + ["--rps", (rate / CONNECTIONS).to_s]
    end

    def report(output)
      longest = output[/time for request: +\S+ +(\S+)/, 1]
      Reported.new(requests: output[/(\d+) done/, 1].to_i, seconds: output[/finished in ([\d.]+)s/, 1].to_f,
                   note: "max #{longest}")
    end
  end

  # oha, with one thread like the others.
  class Oha < Tool
    def version = `#{program} --version`[/[\d.]+/]

    def program
      built = "#{ENV.fetch('CARGO_TARGET_DIR', "#{ROOT}/target")}/bench-peers/bin/oha"
      File.executable?(built) ? built : "oha"
    end

    def closed(url, seconds)
      [program, "--no-tui", "--output-format", "json", "--worker-threads", "1", "-c", CONNECTIONS.to_s, "-z", "#{seconds}s", "-w",
       "-H", STAMP, url]
    end

    def at_rate(url, rate, seconds) = closed(url, seconds) + ["-q", rate.to_s]
    def corrected(url, rate, seconds) = at_rate(url, rate, seconds) + ["--latency-correction"]

    def report(output)
      document = JSON.parse(output)
      percentiles = document.fetch("latencyPercentiles")
      Reported.new(requests: document.fetch("statusCodeDistribution").values.sum, seconds: document.dig("summary", "total"),
                   p99_ms: percentiles["p99"]&.*(1e3), p999_ms: percentiles["p99.9"]&.*(1e3))
    end
  end
end
