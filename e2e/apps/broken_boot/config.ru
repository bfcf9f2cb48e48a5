# frozen_string_literal: true

# Does not boot: powerband has to show this message and leave nothing behind.
raise "broken_boot: this application refuses to start"
