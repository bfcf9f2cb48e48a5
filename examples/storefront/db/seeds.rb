# Deterministic: the same rows, byte for byte, on every machine. Runs on an empty database only.
ShopSeed.new.run if Product.none?
