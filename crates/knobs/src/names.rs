//! Names of knobs that more than one part of this crate looks at. Those that are not in the catalogue are a prefix and a name that the user
//! chooses.

/// Before the name of a variable that has no knob of its own.
pub const ENV: &str = "env.";

/// Before the name of a placeholder in a command or a template of the configuration.
pub const VALUE: &str = "value.";

/// Before the name of a gem that the server runs in another version than `Gemfile.lock` has.
pub const GEM: &str = "gem.";

/// The gem whose version is compared most, which needs no prefix.
pub const PUMA: &str = "puma";

/// The Ruby that runs the server: of its environment only a part of `PATH`.
pub const RUBY: &str = "ruby";
