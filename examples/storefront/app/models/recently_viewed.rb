# A leak to try `powerband leak` on: with STOREFRONT_LEAK set, each page of a product leaves an entry that nothing removes.
class RecentlyViewed
  ENTRIES = [] # rubocop:disable Style/MutableConstant
  LEAKS = ENV.key?("STOREFRONT_LEAK")

  def self.note(product)
    ENTRIES << { name: product.name.upcase, seen_at: Time.current } if LEAKS
  end
end
