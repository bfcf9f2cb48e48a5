CREATE TABLE products (id integer PRIMARY KEY, name text NOT NULL, category integer NOT NULL, price_cents integer NOT NULL);

INSERT INTO products SELECT n, 'product no. ' || n, n % 12, 900 + (n * 37) % 49000 FROM generate_series(1, 2000) n;

CREATE TABLE reviews (id integer PRIMARY KEY, product_id integer NOT NULL, rating integer NOT NULL, body text NOT NULL);

INSERT INTO reviews SELECT n, 1 + n % 2000, 1 + n % 5, repeat('light warm sturdy dry ', 1 + n % 9) FROM generate_series(1, 20000) n;

CREATE INDEX reviews_by_product ON reviews (product_id);

VACUUM ANALYZE;

