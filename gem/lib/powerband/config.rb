# frozen_string_literal: true

module Powerband
  # The settings, read from the environment. A value that cannot be used is named in `errors`; the agent then says
  # so and goes on with the default, because it must not stop a server.
  class Config
    RING_CAPACITY = 16_384
    RING_RANGE = (64..1_048_576)
    BURSTS_RANGE = (0..1_000_000_000)
    SWITCH = { "1" => true, "true" => true, "on" => true, "0" => false, "false" => false, "off" => false }.freeze

    KEPT = { "POWERBAND_KEEP" => "7d", "POWERBAND_KEEP_SIZE" => "256MiB" }.freeze

    attr_reader :root, :ring_capacity, :bursts, :keep_s, :keep_bytes, :errors

    def initialize(env = ENV)
      @errors = []
      @root = folder(env)
      @ring_capacity = ring(text(env, "POWERBAND_RING"))
      @bursts = one_in(text(env, "POWERBAND_BURSTS"))
      @enabled = switch(text(env, "POWERBAND_ENABLED"))
      @keep_s = kept(env, "POWERBAND_KEEP", "a duration such as 7d, or off") { |text| Quantity.seconds(text) }
      extension(env["POWERBAND_EXT"].to_s)
      @keep_bytes = kept(env, "POWERBAND_KEEP_SIZE", "a size such as 256MiB, or off") { |text| Quantity.bytes(text) }
    end

    def enabled?
      @enabled
    end

    private

    # Bytes that are no text are no value of any setting, and nothing that may be asked of a text.
    def text(env, name)
      env[name].to_s.scrub
    end

    def folder(env)
      runtime = env["XDG_RUNTIME_DIR"].to_s
      default = File.join(runtime.empty? ? "/tmp" : runtime, "powerband")
      root = env["POWERBAND_DIR"].to_s
      root.empty? ? default : File.expand_path(root)
    rescue ArgumentError => e
      @errors << "POWERBAND_DIR=#{root.scrub}: it must be the path of a folder (#{e.message}); using #{default}"
      default
    end

    # Where it is looked for knows Extension.
    def extension(path)
      @errors << "POWERBAND_EXT=#{path.scrub}: no file is there; looking elsewhere" unless path.empty? || File.file?(path)
    end

    def ring(text)
      return RING_CAPACITY if text.empty?

      number = Integer(text, 10, exception: false)
      return number if number && RING_RANGE.cover?(number) && (number & (number - 1)).zero?

      @errors << "POWERBAND_RING=#{text}: it must be a power of two from 64 to 1048576; using #{RING_CAPACITY}"
      RING_CAPACITY
    end

    def kept(env, name, wanted)
      text = text(env, name)
      value = yield text.empty? ? KEPT.fetch(name) : text
      return value if value

      @errors << "#{name}=#{text}: it must be #{wanted}; using #{KEPT.fetch(name)}"
      yield KEPT.fetch(name)
    end

    # 1 in so many requests with the exact course of its time; 0 none.
    def one_in(text)
      return 0 if text.empty?

      number = Integer(text, 10, exception: false)
      return number if number && BURSTS_RANGE.cover?(number)

      @errors << "POWERBAND_BURSTS=#{text}: it must be N, for one in N requests, from 1 to 1000000000, or 0; none is sampled"
      0
    end

    def switch(text)
      return true if text.empty?

      SWITCH.fetch(text.downcase) do
        @errors << "POWERBAND_ENABLED=#{text}: it must be 1 or 0; the agent stays on"
        true
      end
    end
  end
end
