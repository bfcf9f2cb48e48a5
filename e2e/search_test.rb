# frozen_string_literal: true

require_relative "support/powerband"

# `tune --knobs`: what may not be searched; that the search finds what helps is in long/.
class SearchTest < PowerbandTest
  def test_what_cannot_be_searched_is_told
    knobs = ["threads=2", "yjit", "gc.malloc_limt=1MiB", "nginx.workers=2", "value.a=1"].flat_map { |knob| ["--knobs", knob] }
    ended = powerband("tune", "--app", File.expand_path("apps/io", __dir__), "--runs", runs, *knobs)
    assert_refused ended, 2, /--threads or --workers/, /no values/, /did you mean gc\.malloc_limit/,
                   /server\.front/, /placeholders are for compare and sweep/
    assert_no_run_folder
  end
end
