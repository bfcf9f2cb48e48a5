# frozen_string_literal: true

module Powerband
  # The settings, read from the environment. A value that cannot be used is named in `errors`; the agent then says
  # so and goes on with the default, because it must not stop a server.
  class Config
    RING_CAPACITY = 16_384
    RING_RANGE = (64..1_048_576)
    SWITCH = { "1" => true, "true" => true, "on" => true, "0" => false, "false" => false, "off" => false }.freeze

    attr_reader :root, :ring_capacity, :errors

    def initialize(env = ENV)
      @errors = []
      @root = folder(env)
      @ring_capacity = ring(env["POWERBAND_RING"])
      @enabled = switch(env["POWERBAND_ENABLED"])
    end

    def enabled?
      @enabled
    end

    private

    def folder(env)
      root = env["POWERBAND_DIR"].to_s
      return File.expand_path(root) unless root.empty?

      runtime = env["XDG_RUNTIME_DIR"].to_s
      File.join(runtime.empty? ? "/tmp" : runtime, "powerband")
    end

    def ring(text)
      return RING_CAPACITY if text.to_s.empty?

      number = Integer(text, 10, exception: false)
      return number if number && RING_RANGE.cover?(number) && (number & (number - 1)).zero?

      @errors << "POWERBAND_RING=#{text}: it must be a power of two from 64 to 1048576; using #{RING_CAPACITY}"
      RING_CAPACITY
    end

    def switch(text)
      return true if text.to_s.empty?

      SWITCH.fetch(text.downcase) do
        @errors << "POWERBAND_ENABLED=#{text}: it must be 1 or 0; the agent stays on"
        true
      end
    end
  end
end
