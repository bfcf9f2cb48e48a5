//! The pages in what `bin/rails routes` prints.

/// Paths that can be asked for as they stand: GET, and no segment that a record fills. `/` has no second path to the same action.
pub(crate) fn paths(printed: &str) -> Vec<String> {
    // Of each its action, with the parameters that the route sets.
    let mut found: Vec<(String, &[&str])> = Vec::new();
    let lines: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for words in &lines {
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
        if plain && a_page && found.iter().all(|(other, _)| *other != path) {
            found.push((path, &words[verb + 2..]));
        }
    }
    let root = found.iter().find(|(path, _)| path == "/");
    let root = root.map(|(_, action)| *action);
    found.retain(|(path, action)| path == "/" || Some(*action) != root);
    found.into_iter().map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_a_record_are_taken() {
        let printed = r#"
                  Prefix Verb   URI Pattern                 Controller#Action
                  trails GET    /home(.:format)             home#index
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
                         GET    /about(.:format)            pages#show {:id=>"about"}
                         GET    /team(.:format)             pages#show {:id=>"team"}
"#;
        assert_eq!(
            paths(printed),
            ["/", "/products", "/products/new", "/up", "/about", "/team"]
        );
    }
}
