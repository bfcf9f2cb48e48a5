//! The framework and the server of an application, as its Gemfile.lock says or, without one, its Gemfile.

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

/// A gem, in the version that is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gem {
    /// As people write it, such as `Rails`.
    pub name: &'static str,
    pub version: Option<String>,
}

/// Servers that Powerband starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Puma,
    Unicorn,
    Pitchfork,
    Falcon,
    Passenger,
}

impl Server {
    /// As `server.kind` has it.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Server::Puma => "puma",
            Server::Unicorn => "unicorn",
            Server::Pitchfork => "pitchfork",
            Server::Falcon => "falcon",
            Server::Passenger => "passenger",
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Server::Puma => "Puma",
            Server::Unicorn => "Unicorn",
            Server::Pitchfork => "Pitchfork",
            Server::Falcon => "Falcon",
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
    /// From the texts of Gemfile.lock and Gemfile; either may be empty. Where they name no server, Puma is
    /// taken; of several, the first of the list below.
    #[must_use]
    pub fn of_bundle(lock: &str, gemfile: &str) -> Application {
        let has = |gem: &str| match lock.is_empty() {
            true => asked_for(gemfile, gem),
            false => locked(lock, gem).is_some(),
        };
        let found = FRAMEWORKS.iter().find(|(gem, _)| has(gem));
        let framework = found.map(|(gem, name)| Gem {
            name,
            version: locked(lock, gem),
        });
        let servers = [
            Server::Puma,
            Server::Unicorn,
            Server::Pitchfork,
            Server::Falcon,
            Server::Passenger,
        ];
        let server = servers
            .into_iter()
            .find(|server| has(server.key()))
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
            Some(Gem {
                name,
                version: Some(version),
            }) => write!(f, "a {name} {version} application")?,
            Some(gem) => write!(f, "a {} application", gem.name)?,
            None => f.write_str("a Rack application")?,
        }
        match &self.server_version {
            Some(version) => write!(f, " with {} {version}", self.server),
            None => Ok(()),
        }
    }
}

/// Whether a line of the Gemfile asks for a gem.
fn asked_for(gemfile: &str, gem: &str) -> bool {
    gemfile.lines().any(|line| {
        let rest = line.trim_start().strip_prefix("gem ");
        let name = rest.and_then(|rest| rest.trim_start().strip_prefix(['"', '\'']));
        name.and_then(|name| name.strip_prefix(gem))
            .is_some_and(|rest| rest.starts_with(['"', '\'']))
    })
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
        let found = Application::of_bundle(LOCK, "");
        assert!(found.is_rails());
        assert_eq!(
            found.to_string(),
            "a Rails 7.2.2.1 application with Puma 6.6.0"
        );
        let unicorn = Application::of_bundle("    sinatra (4.1.0)\n    unicorn (6.1.0)\n", "");
        assert_eq!(unicorn.server, Server::Unicorn);
        assert_eq!(
            unicorn.to_string(),
            "a Sinatra 4.1.0 application with Unicorn 6.1.0"
        );
    }

    #[test]
    fn without_a_lock_the_gemfile_says_it() {
        let gemfile = "source \"x\"\n# gem \"hanami\"\n  gem 'rails', '~> 7.2'\ngem \"puma_worker_killer\"\ngem \"unicorn\"\n";
        let found = Application::of_bundle("", gemfile);
        assert!(found.is_rails());
        assert_eq!(found.server, Server::Unicorn);
        assert_eq!(found.to_string(), "a Rails application");
        let locked = Application::of_bundle("    puma (6.6.0)\n", gemfile);
        assert_eq!(locked.to_string(), "a Rack application with Puma 6.6.0");
    }

    #[test]
    fn a_dependency_of_another_gem_is_no_gem_of_the_application() {
        let dependencies = "    capybara (3.4)\n      puma (>= 5)\n      rails (>= 7)\n";
        let found = Application::of_bundle(dependencies, "");
        assert_eq!(found, Application::of_bundle("", ""));
        assert_eq!(found.to_string(), "a Rack application");
    }
}
