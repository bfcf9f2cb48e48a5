//! Names of knobs that several modules need, and prefixes of those that are not in the catalogue.

/// The prefix of a variable that has no knob.
pub const ENV: &str = "env.";

/// The prefix of a placeholder in a command or a template of the configuration.
pub const VALUE: &str = "value.";

/// The prefix of a gem that the server runs in another version than `Gemfile.lock` has.
pub const GEM: &str = "gem.";

/// Short for `gem.puma`.
pub const PUMA: &str = "puma";

/// The Ruby that runs the server: of its environment only a part of `PATH`.
pub const RUBY: &str = "ruby";

/// The CPU quota of the server's pod.
pub const POD_CPUS: &str = "pod.cpus";

/// The memory limit of the server's pod.
pub const POD_MEMORY: &str = "pod.memory";
