# Fills an empty shop with the same rows every time: a pinned generator, fixed dates, explicit ids.
class ShopSeed
  EPOCH = Time.utc(2026, 1, 1)
  CATEGORIES = ["Tents", "Sleeping bags", "Stoves", "Boots", "Jackets", "Packs", "Lamps", "Bottles", "Ropes", "Maps",
                "Knives", "Gloves"].freeze
  MATERIALS = %w[Alpine Nordic Desert Coastal Forest Summit Valley Glacier Canyon Prairie].freeze
  SHAPES = %w[Light Classic Compact Expedition Family Solo Storm Trail Ultra Winter].freeze
  WORDS = %w[light warm sturdy dry quick quiet cotton wool canvas steel carbon seam zip strap buckle pocket lining sole
             weather rain wind snow summer winter long short easy heavy repair wash carry fold pitch hike camp walk
             mountain river lake ridge valley trail road night morning].freeze
  AUTHORS = %w[Ada Bo Cleo Dag Eva Finn Greta Hugo Ida Jon Kaia Leo Mira Nils Olga Per].freeze

  PRODUCTS = 500
  ORDERS = 1_500
  REVIEWS_PER_PRODUCT = (4..10)
  DAYS = 180

  def initialize(seed: 42)
    @random = Random.new(seed)
  end

  def run
    ApplicationRecord.transaction do
      insert(Category, categories)
      insert(Product, products)
      insert(Review, reviews)
      insert_orders
    end
  end

  private

  def insert(model, rows)
    rows.each_slice(500) { |slice| model.insert_all!(slice) }
  end

  def categories
    CATEGORIES.each.with_index(1).map { |name, id| { id:, name:, **timestamps } }
  end

  def products
    @products ||= (1..PRODUCTS).map do |id|
      category_id = (id % CATEGORIES.size) + 1
      { id:, category_id:, sku: format("SF-%04d", id), name: product_name(id, category_id),
        description: sentence(40..70), price_cents: @random.rand(900..49_900), **timestamps }
    end
  end

  def product_name(id, category_id)
    "#{pick(MATERIALS)} #{pick(SHAPES)} #{CATEGORIES.fetch(category_id - 1).singularize} #{id}"
  end

  def reviews
    products.flat_map do |product|
      Array.new(@random.rand(REVIEWS_PER_PRODUCT)) do
        { product_id: product[:id], author: pick(AUTHORS), rating: @random.rand(1..5), body: sentence(12..30),
          **timestamps }
      end
    end
  end

  def insert_orders
    items = (1..ORDERS).to_h { |id| [id, order_items(id)] }
    insert(Order, items.map { |id, own| order(id, own) })
    insert(OrderItem, items.values.flatten)
  end

  def order(id, items)
    { id:, email: "#{pick(AUTHORS).downcase}#{id}@example.com", placed_on: EPOCH.to_date - (id % DAYS),
      total_cents: items.sum { |item| item[:quantity] * item[:unit_price_cents] }, **timestamps }
  end

  def order_items(order_id)
    Array.new(@random.rand(1..5)) do
      product = pick(products)
      { order_id:, product_id: product[:id], quantity: @random.rand(1..3),
        unit_price_cents: product[:price_cents], **timestamps }
    end
  end

  def sentence(length)
    "#{Array.new(@random.rand(length)) { pick(WORDS) }.join(' ').capitalize}."
  end

  def pick(list)
    list.fetch(@random.rand(list.size))
  end

  def timestamps
    { created_at: EPOCH, updated_at: EPOCH }
  end
end
