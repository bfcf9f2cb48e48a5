//! Which framework and which server an application's Gemfile.lock names.

use std::fmt;

/// What is known of an application without starting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Rails, Sinatra and the like; `None` for any other Rack application.
    pub framework: Option<Gem>,
    pub server: Server,
    /// The version of the server, where Gemfile.lock has it.
    pub server_version: Option<String>,
}

/// A gem in the version that is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gem {
    /// As people write it, such as `Rails`.
    pub name: &'static str,
    pub version: String,
}

/// Servers that Powerband starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Puma,
    Unicorn,
    Passenger,
}

impl Server {
    /// As `server.kind` has it.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Server::Puma => "puma",
            Server::Unicorn => "unicorn",
            Server::Passenger => "passenger",
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Server::Puma => "Puma",
            Server::Unicorn => "Unicorn",
            Server::Passenger => "Passenger",
        })
    }
}

const FRAMEWORKS: [(&str, &str); 4] = [
    ("rails", "Rails"),
    ("hanami", "Hanami"),
    ("roda", "Roda"),
    ("sinatra", "Sinatra"),
];

impl Application {
    /// From the text of Gemfile.lock. Without one, or with several servers, Puma is taken, as Powerband does.
    #[must_use]
    pub fn of_lock(lock: &str) -> Application {
        let framework = FRAMEWORKS.iter().find_map(|(gem, name)| {
            let version = locked(lock, gem)?;
            Some(Gem { name, version })
        });
        let servers = [Server::Puma, Server::Unicorn, Server::Passenger];
        let server = servers
            .into_iter()
            .find(|server| locked(lock, server.key()).is_some())
            .unwrap_or(Server::Puma);
        Application {
            framework,
            server,
            server_version: locked(lock, server.key()),
        }
    }

    #[must_use]
    pub fn is_rails(&self) -> bool {
        self.framework
            .as_ref()
            .is_some_and(|gem| gem.name == "Rails")
    }
}

/// `a Rails 7.2.2 application with Puma 6.6.0`.
impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.framework {
            Some(gem) => write!(f, "a {} {} application", gem.name, gem.version)?,
            None => f.write_str("a Rack application")?,
        }
        match &self.server_version {
            Some(version) => write!(f, " with {} {version}", self.server),
            None => Ok(()),
        }
    }
}

/// The version of a gem in Gemfile.lock. Lines of dependencies are indented further.
fn locked(lock: &str, gem: &str) -> Option<String> {
    lock.lines().find_map(|line| {
        let rest = line.strip_prefix("    ")?.strip_prefix(gem)?;
        let version = rest.strip_prefix(" (")?.strip_suffix(')')?;
        Some(version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "GEM\n  specs:\n    puma (6.6.0)\n      nio4r (~> 2.0)\n    rails (7.2.2.1)\n      railties (= 7.2.2.1)\n\n\
                        DEPENDENCIES\n  puma (>= 5.0)\n  rails (~> 7.2)\n";

    #[test]
    fn framework_and_server_come_from_the_lock() {
        let found = Application::of_lock(LOCK);
        assert!(found.is_rails());
        assert_eq!(
            found.to_string(),
            "a Rails 7.2.2.1 application with Puma 6.6.0"
        );
        let unicorn = Application::of_lock("    sinatra (4.1.0)\n    unicorn (6.1.0)\n");
        assert_eq!(unicorn.server, Server::Unicorn);
        assert_eq!(
            unicorn.to_string(),
            "a Sinatra 4.1.0 application with Unicorn 6.1.0"
        );
    }

    #[test]
    fn a_dependency_of_another_gem_is_no_gem_of_the_application() {
        let found =
            Application::of_lock("    capybara (3.4)\n      puma (>= 5)\n      rails (>= 7)\n");
        assert_eq!(found, Application::of_lock(""));
        assert_eq!(found.to_string(), "a Rack application");
    }
}
