//! The servers that Powerband knows how to configure, and how they differ.

use run::Settings;

/// Clients for each process of a server with fibers: enough where a request waits thirty times as long as it computes.
const CLIENTS_OF_FIBERS: u32 = 32;

/// A server that Powerband knows how to configure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    Puma,
    Unicorn,
    Pitchfork,
    /// `falcon serve`, whose processes serve each request in a fiber.
    Falcon,
    /// Passenger in Apache.
    Passenger,
}

impl ServerKind {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            ServerKind::Puma => "puma",
            ServerKind::Unicorn => "unicorn",
            ServerKind::Pitchfork => "pitchfork",
            ServerKind::Falcon => "falcon",
            ServerKind::Passenger => "passenger",
        }
    }

    /// As it calls itself.
    pub fn title(self) -> &'static str {
        match self {
            ServerKind::Puma => "Puma",
            ServerKind::Unicorn => "Unicorn",
            ServerKind::Pitchfork => "Pitchfork",
            ServerKind::Falcon => "Falcon",
            ServerKind::Passenger => "Passenger",
        }
    }

    /// Whether a process can have more than one thread.
    pub fn has_threads(self) -> bool {
        self == ServerKind::Puma
    }

    /// Whether it loads the application before it forks; `None` if a setting decides that.
    pub fn preloads(self) -> Option<bool> {
        match self {
            ServerKind::Pitchfork => Some(true),
            ServerKind::Falcon => Some(false),
            ServerKind::Puma | ServerKind::Unicorn | ServerKind::Passenger => None,
        }
    }

    /// Whether fibers serve its requests: a process serves any number at once, and its time cannot be split.
    pub fn has_fibers(self) -> bool {
        self == ServerKind::Falcon
    }

    /// Clients of a closed loop that keep a configuration busy which has so many threads in all.
    pub fn clients(self, threads: u32) -> u32 {
        match self.has_fibers() {
            true => CLIENTS_OF_FIBERS * threads,
            false => 2 * threads,
        }
    }

    /// What it runs with by default.
    pub fn defaults(self) -> Settings {
        let one_thread = |workers| Settings {
            workers,
            threads: 1,
            preload: false,
        };
        match self {
            ServerKind::Puma => Settings::PUMA_DEFAULT,
            ServerKind::Unicorn | ServerKind::Falcon => one_thread(1),
            ServerKind::Pitchfork => Settings {
                preload: true,
                ..one_thread(1)
            },
            // PassengerMaxPoolSize; the smart spawn method loads the application before it forks.
            ServerKind::Passenger => Settings {
                preload: true,
                ..one_thread(6)
            },
        }
    }
}
