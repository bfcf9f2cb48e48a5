# frozen_string_literal: true

module Powerband
  # The settings, read from the environment. A value that cannot be used is named in `errors`; the agent then says
  # so and goes on with the default, because it must not stop a server.
  class Config
    RING_CAPACITY = 16_384
    RING_RANGE = (64..1_048_576)
    BURSTS_RANGE = (0..1_000_000_000)
    SWITCH = { "1" => true, "true" => true, "on" => true, "0" => false, "false" => false, "off" => false }.freeze

    QUEUE_LIMIT = "60s"
    QUEUE_RANGE = (1..3600)
    KEPT = { "POWERBAND_KEEP" => "7d", "POWERBAND_KEEP_SIZE" => "256MiB" }.freeze

    ARM = /\A[\w.:-]{0,63}\z/

    attr_reader :root, :arm, :ring_capacity, :bursts, :queue_limit_s, :keep_s, :keep_bytes, :errors

    def initialize(env = ENV)
      @errors = []
      @root = folder(env)
      @ring_capacity = ring(text(env, "POWERBAND_RING"))
      @bursts = one_in(text(env, "POWERBAND_BURSTS"))
      @queue_limit_s = queue_limit(text(env, "POWERBAND_QUEUE_LIMIT"))
      @enabled = switch(text(env, "POWERBAND_ENABLED"))
      @keep_s = kept(env, "POWERBAND_KEEP", "a duration such as 7d, or off") { |text| Quantity.seconds(text) }
      @arm = arm_in(text(env, "POWERBAND_ARM"))
      extension(env["POWERBAND_EXT"].to_s)
      @keep_bytes = kept(env, "POWERBAND_KEEP_SIZE", "a size such as 256MiB, or off") { |text| Quantity.bytes(text) }
    end

    def enabled?
      @enabled
    end

    # The root was not configured: it is in /tmp, and users share it.
    def default_root?
      @default_root
    end

    # Where this user's files are.
    def user_folder
      Folder.new(@root, default_root: @default_root)
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
      @default_root = root.empty? && runtime.empty?
      root.empty? ? default : File.expand_path(root)
    rescue ArgumentError => e
      @errors << "POWERBAND_DIR=#{root.scrub}: it must be the path of a folder (#{e.message}); using #{default}"
      @default_root = runtime.empty?
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

    # The group of pods or servers that this process belongs to, where several are compared.
    def arm_in(text)
      return text if text.match?(ARM)

      @errors << "POWERBAND_ARM=#{text}: it must be up to 63 letters, digits, _, ., : or -; none is recorded"
      ""
    end

    # 1 in so many requests with the exact course of its time; 0 none.
    def one_in(text)
      return 0 if text.empty?

      number = Integer(text, 10, exception: false)
      return number if number && BURSTS_RANGE.cover?(number)

      @errors << "POWERBAND_BURSTS=#{text}: it must be N, for one in N requests, from 1 to 1000000000, or 0; none is sampled"
      0
    end

    def queue_limit(text)
      seconds = Quantity.seconds(text.empty? ? QUEUE_LIMIT : text)
      return seconds if seconds && QUEUE_RANGE.cover?(seconds)

      @errors << "POWERBAND_QUEUE_LIMIT=#{text}: it must be a duration from 1s to 1h; using #{QUEUE_LIMIT}"
      Quantity.seconds(QUEUE_LIMIT)
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
