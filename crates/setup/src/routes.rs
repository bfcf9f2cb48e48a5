//! The pages in what `bin/rails routes` prints.

/// Paths that can be asked for as they stand: GET, and no segment that a record fills.
pub(crate) fn paths(printed: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in printed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `products GET /products(.:format) products#index`; the name is missing where a line repeats it.
        let Some(verb) = words.iter().take(2).position(|word| word.contains("GET")) else {
            continue;
        };
        let (Some(pattern), Some(target)) = (words.get(verb + 1), words.get(verb + 2)) else {
            continue;
        };
        let path = pattern.replace("(.:format)", "");
        let plain = path.starts_with('/') && !path.contains([':', '*', '(']);
        let a_page = target.contains('#') && !path.starts_with("/rails/");
        if plain && a_page && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_a_record_are_taken() {
        let printed = "\
                  Prefix Verb   URI Pattern                 Controller#Action
                    root GET    /                           home#index
                products GET    /products(.:format)         products#index
                         POST   /products(.:format)         products#create
             new_product GET    /products/new(.:format)     products#new
                 product GET    /products/:id(.:format)     products#show
                         PATCH  /products/:id(.:format)     products#update
                 sidekiq        /sidekiq                    Sidekiq::Web
      rails_health_check GET    /up(.:format)               rails/health#show
      rails_conductor    GET    /rails/conductor(.:format)  rails/conductor#index
                   files GET    /files/*path(.:format)      files#show
                         GET    /about(.:format)            pages#about
";
        assert_eq!(
            paths(printed),
            ["/", "/products", "/products/new", "/up", "/about"]
        );
    }
}
