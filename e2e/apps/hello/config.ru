# frozen_string_literal: true

# The least that a server can be asked: what remains is Puma, the network and whoever measures.
require_relative "../work"

run ->(_env) { Work.answer("hello\n") }
