//! A `powerband.toml` to begin with: known values are set, open decisions are in comments.

use crate::{Application, Pages, Server, Source};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the file is made from.
#[derive(Debug)]
pub struct Beginning<'a> {
    pub application: &'a Application,
    /// `None`: the first page is `/`.
    pub pages: Option<&'a Pages>,
    /// Where the pages come from, such as `log/production.log`.
    pub from: &'a str,
    /// Variables that the file which is replaced gives the application.
    pub env: &'a BTreeMap<String, String>,
    /// Threads and workers of today, where the server's configuration says them.
    pub today: Option<(u16, u16)>,
}

/// The file.
#[must_use]
pub fn written(beginning: &Beginning<'_>) -> String {
    let application = beginning.application;
    let mut text = format!(
        "# What `powerband tune`, compare, sweep and capacity are to do here: {application}.\n\
         # Flags win over this file. Every key: docs/configuration.md.\n"
    );
    objective(&mut text);
    server(&mut text, application);
    baseline(&mut text, application.server, beginning.today);
    pages(&mut text, beginning);
    safety(&mut text, beginning.env);
    text
}

fn objective(text: &mut String) {
    text.push_str(
        "\n[objective]\n\
         slo = \"p99=250ms\"               # 99 % of the requests within 250 ms; errors count as late\n\
         # max_memory = \"1GiB\"           # of all processes of the server; the limit of the container where there is one\n\
         \n[tune]\n\
         budget = \"20m\"                  # of tune, which names the shortest possible, and of capacity; a limit for compare, sweep, check\n",
    );
}

fn server(text: &mut String, application: &Application) {
    if application.server != Server::Puma {
        let _ = write!(
            text,
            "\n[server]\nkind = {}\n",
            quoted(application.server.key())
        );
        return;
    }
    text.push_str(
        "\n# [server]\n\
         # command = \"bin/start --port {port}\"    # where something else than `puma` starts the server\n",
    );
}

fn baseline(text: &mut String, server: Server, today: Option<(u16, u16)>) {
    text.push_str(
        "\n# What production runs today. Without these keys the server's configuration is read",
    );
    let which = today.map_or(".", |_| ", which says:");
    let _ = writeln!(text, "{which}\n# [baseline]");
    let (threads, workers) = today.unwrap_or((3, 2));
    // No other server's processes have more threads than one.
    if server == Server::Puma {
        let _ = writeln!(text, "# threads = {threads}");
    }
    let _ = writeln!(text, "# workers = {workers}");
}

fn pages(text: &mut String, beginning: &Beginning<'_>) {
    let from = beginning.from;
    let Some(pages) = beginning.pages else {
        text.push_str(
            "\n# The requests. No log and no routes say what users ask for, so this is a guess: put the pages that matter here.\n\
             [[workload.request]]\npath = \"/\"\n",
        );
        return;
    };
    let _ = match pages.source {
        Source::Routes => write!(
            text,
            "\n# The requests: pages of {from} that need no record, {} of {}; of two paths with the same action, one.\n\
             # How often users ask for each is not known: set the weights, and add the pages of a record that matter, such as /products/1.\n",
            pages.pages.len(),
            pages.of_pages
        ),
        Source::RailsLog | Source::Recording => write!(
            text,
            "\n# The requests: the {} most frequent of {} pages in {from}, {:.0} % of {} GET requests for pages. The record in a path,\n\
             # such as the 1 in /products/1, has to exist in the data that is used here.\n",
            pages.pages.len(),
            pages.of_pages,
            100.0 * pages.requests as f64 / pages.of_requests.max(1) as f64,
            pages.of_requests
        ),
    };
    text.push_str(
        "# Many records, one a request, come from a data file (docs/load.md#values), such as products.csv with the header line id:\n\
         # [[workload.request]]\n\
         # path = \"/products/{{id}}\"\n\
         # data = \"products.csv\"\n",
    );
    if pages.other_methods > 0 {
        let _ = writeln!(
            text,
            "# {} requests of other methods, such as POST, are left out: they change data.",
            pages.other_methods
        );
    }
    for page in &pages.pages {
        let _ = write!(
            text,
            "\n[[workload.request]]\nname = {}\npath = {}\nweight = {}\n",
            quoted(&page.name),
            quoted(&page.path),
            page.weight
        );
    }
    if !pages.left_out.is_empty() {
        text.push_str("\n# Each page was requested once. These did not answer with a page (2xx) and are left out:\n");
    }
    for left in &pages.left_out {
        let _ = write!(
            text,
            "\n# {}: {}\n# [[workload.request]]\n# path = {}\n",
            left.page.name,
            left.why.replace(char::is_control, " "),
            quoted(&left.page.path)
        );
    }
}

fn safety(text: &mut String, env: &BTreeMap<String, String>) {
    text.push_str(
        "\n# The server runs in the production environment: give it a separate database. Addresses that are not on this machine are refused.\n",
    );
    if env.is_empty() {
        text.push_str(
            "# [app.env]\n\
             # DATABASE_URL = \"postgresql:///my_app_tuning\"\n\
             # RAILS_LOG_LEVEL = \"warn\"\n",
        );
        return;
    }
    text.push_str("[app.env]\n");
    for (name, value) in env {
        let bare = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let key = if bare { name.clone() } else { quoted(name) };
        let _ = writeln!(text, "{key} = {}", quoted(value));
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LeftOut, Page};

    fn pages(source: Source) -> Pages {
        Pages {
            pages: vec![Page {
                name: "GET /se\"arch".to_owned(),
                path: "/se\"arch?q=1".to_owned(),
                weight: 60,
            }],
            source,
            requests: 60,
            of_requests: 80,
            of_pages: 4,
            other_methods: 3,
            left_out: vec![LeftOut {
                page: Page {
                    name: "GET /admin".to_owned(),
                    path: "/admin".to_owned(),
                    weight: 1,
                },
                why: "it redirects to /login".to_owned(),
            }],
        }
    }

    fn made(pages: Option<&Pages>, lock: &str) -> (String, toml::Table) {
        let text = written(&Beginning {
            application: &Application::of_bundle(lock, ""),
            pages,
            from: "log/production.log",
            env: &BTreeMap::new(),
            today: Some((3, 2)),
        });
        let table = text.parse().unwrap();
        (text, table)
    }

    #[test]
    fn the_file_is_toml_with_the_pages() {
        let (text, table) = made(Some(&pages(Source::RailsLog)), "    unicorn (6.1.0)\n");
        assert_eq!(table["server"]["kind"].as_str(), Some("unicorn"));
        let request = &table["workload"]["request"][0];
        assert_eq!(request["path"].as_str(), Some("/se\"arch?q=1"));
        assert_eq!(request["weight"].as_integer(), Some(60));
        assert!(text.contains("the 1 most frequent of 4 pages in log/production.log, 75 % of 80"));
        assert!(text.contains(", which says:\n# [baseline]\n# workers = 2"));
        assert!(text.contains("3 requests of other methods"));
    }

    #[test]
    fn records_come_from_a_data_file() {
        for source in [Source::Routes, Source::RailsLog, Source::Recording] {
            let (text, _) = made(Some(&pages(source)), "");
            assert!(
                text.contains("# [[workload.request]]\n# path = \"/products/{{id}}\"\n# data = \"products.csv\"\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn without_a_source_the_guess_is_said_to_be_one() {
        let (text, table) = made(None, "");
        assert!(text.contains("this is a guess"));
        assert_eq!(table["workload"]["request"][0]["path"].as_str(), Some("/"));
        assert!(!table.contains_key("server"));
        assert!(text.contains(", which says:\n# [baseline]\n# threads = 3\n# workers = 2"));
        let (text, _) = made(Some(&pages(Source::Routes)), "");
        assert!(text.contains("How often users ask for each is not known"));
    }

    #[test]
    fn pages_that_measure_nothing_are_comments_and_variables_are_kept() {
        let env = BTreeMap::from([("STRIPE_KEY".to_owned(), "a\"b".to_owned())]);
        let pages = pages(Source::Routes);
        let text = written(&Beginning {
            application: &Application::of_bundle("", ""),
            pages: Some(&pages),
            from: "bin/rails routes",
            env: &env,
            today: None,
        });
        assert!(
            text.contains("# GET /admin: it redirects to /login\n# [[workload.request]]\n# path = \"/admin\"\n"),
            "{text}"
        );
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["workload"]["request"].as_array().unwrap().len(), 1);
        assert_eq!(table["app"]["env"]["STRIPE_KEY"].as_str(), Some("a\"b"));
    }

    /// What stands there as a comment is what a user makes a key of.
    #[test]
    fn comments_that_are_keys_are_toml() {
        let (text, _) = made(None, "");
        let key = |line: &&str| line.starts_with("# [") || line.contains(" = ");
        let lines = text
            .lines()
            .filter(|line| line.starts_with("# "))
            .filter(key);
        let uncommented: String = lines.map(|line| format!("{}\n", &line[2..])).collect();
        let table: toml::Table = uncommented.parse().unwrap();
        for section in ["server", "baseline", "app"] {
            assert!(table.contains_key(section), "{section}:\n{uncommented}");
        }
    }
}
