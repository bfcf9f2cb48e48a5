module ShopHelper
  def money(cents)
    number_to_currency(cents / 100.0)
  end

  # Five stars, as many of them filled as the rating rounds to; no rating, no stars.
  def stars(rating)
    return tag.span("not yet rated", class: "unrated") unless rating

    filled = rating.round
    title = number_with_precision(rating, precision: 1)
    tag.span(("★" * filled) + ("☆" * (Review::RATINGS.max - filled)), class: "stars", title:)
  end
end
