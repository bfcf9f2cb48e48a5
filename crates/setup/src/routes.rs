//! The pages in what `bin/rails routes` prints.

use std::collections::HashSet;

/// Paths that can be asked for as they stand: GET, and no segment that a record fills. `/` has no second path to the same action,
/// unless `/` leads to several (of which a constraint chooses).
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
        if plain && a_page {
            found.push((path, &words[verb + 2..]));
        }
    }
    let mut of_root = found.iter().filter(|(path, _)| path == "/");
    let root = of_root.next().map(|(_, action)| *action);
    let root = root.filter(|_| of_root.next().is_none());
    found.retain(|(path, action)| path == "/" || Some(*action) != root);
    let mut seen = HashSet::new();
    let paths = found.into_iter().map(|(path, _)| path);
    paths.filter(|path| seen.insert(path.clone())).collect()
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

    /// As Devise has it: whom `/` shows which page, no route says.
    #[test]
    fn a_root_of_two_actions_leaves_the_other_paths() {
        let printed = "\
            authenticated_root GET / dashboard#index\n\
            root GET / home#index\n\
            dashboard GET /dashboard(.:format) dashboard#index\n";
        assert_eq!(paths(printed), ["/", "/dashboard"]);
    }
}
