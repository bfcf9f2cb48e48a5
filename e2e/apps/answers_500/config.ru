# frozen_string_literal: true

# Boots and then answers 500 to everything: fast, and worth nothing.
require_relative "../work"

run ->(_env) { Work.answer("broken\n", status: 500) }
