# Deterministic: the same rows on every machine. Runs on an empty database only.
ShopSeed.new.run if Product.none?
