# frozen_string_literal: true

module Powerband
  # What the C extension does; without it (an older Ruby, another engine, nothing compiled) nothing happens.
  module Native
    # The same methods as the extension's, which override these.
    module NoOp
      def available?
        false
      end

      def open(_options)
        false
      end

      def close; end
      def forget; end
      def path; end
      def fault; end

      def start(_env)
        false
      end

      def finish(_started, _env, _response, _raised); end
    end

    extend NoOp
  end
end
