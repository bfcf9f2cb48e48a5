# frozen_string_literal: true

module Powerband
  # Marks where a server's own work around the application begins and ends, around the methods of the server's classes.
  # A forced shutdown's exception, which may come as a mark is left, is the server's and passes (see MISTAKES).
  module ServerSpans
    BODY = <<~RUBY
      begin
        ::Powerband::Native.server_start
      rescue *::Powerband::MISTAKES => e
        ::Powerband.fault("the server's own time is not measured", e)
      end
      %s
      ensure
        begin
          ::Powerband::Native.server_finish
        rescue *::Powerband::MISTAKES => e
          ::Powerband.fault("the server's own time is not measured", e)
        end
    RUBY

    # Raises NameError where there is no such method.
    def self.mark(owner, method)
      Wrapping.wrap(owner, method) { |call| format(BODY, call) }
    end
  end
end
