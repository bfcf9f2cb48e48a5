# frozen_string_literal: false

# Each request makes objects that stay and some that do not; its collection decides soon what becomes of them.
KEPT = [] # rubocop:disable Style/MutableConstant

run(lambda do |_env|
  KEPT << Object.new
  text = "not frozen"
  list = [1, 2, 3]
  GC.start(full_mark: false)
  [200, { "content-type" => "text/plain" }, [text, list.sum.to_s]]
end)
