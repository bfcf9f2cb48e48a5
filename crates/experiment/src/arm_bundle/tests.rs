use super::*;

/// An application with a Gemfile, and a separate folder with three versions of the gem `probe`.
struct App {
    dir: tempfile::TempDir,
}

impl App {
    fn new(gemfile: &str) -> App {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("app")).unwrap();
        std::fs::write(dir.path().join("app/Gemfile"), gemfile).unwrap();
        for version in ["1.0.3", "1.1.0", "2.0.0"] {
            let specifications = dir.path().join("gems/specifications");
            let gem = dir.path().join(format!("gems/gems/probe-{version}/lib"));
            std::fs::create_dir_all(&specifications).unwrap();
            std::fs::create_dir_all(&gem).unwrap();
            let specification = format!(
                "Gem::Specification.new {{ |s| s.name = 'probe'; s.version = '{version}'; s.summary = s.name; s.authors = ['us']; \
                 s.require_paths = ['lib'] }}\n"
            );
            let file = specifications.join(format!("probe-{version}.gemspec"));
            std::fs::write(file, specification).unwrap();
        }
        App { dir }
    }

    fn made(&self, knobs: &[(&str, &str)]) -> Result<Option<ArmBundle>, String> {
        self.made_with(knobs, &[])
    }

    fn made_with(
        &self,
        knobs: &[(&str, &str)],
        more: &[(&str, &str)],
    ) -> Result<Option<ArmBundle>, String> {
        let overlay = Overlay::of(knobs).unwrap();
        let app_dir = self.dir.path().join("app");
        let resolver = Resolver {
            app_dir: &app_dir,
            scratch: &self.dir.path().join("run"),
            ruby: OsStr::new("ruby"),
            env: self.env(more),
        };
        let mut bundles = Bundles::default();
        bundles.make(&overlay, &resolver)?;
        Ok(bundles.of(&overlay).cloned())
    }

    fn env(&self, more: &[(&str, &str)]) -> Variables {
        let gems = self.dir.path().join("gems").display().to_string();
        let path = ("GEM_PATH", gems.as_str());
        let more = more.iter().chain([&path]);
        more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).unwrap()
    }
}

const GEMFILE: &str =
    "source \"https://rubygems.org\"\ngem \"probe\", \"~> 1.0\", require: false\n";

#[test]
fn a_version_of_two_numbers_is_the_newest_of_them() {
    for (version, wanted) in [
        ("6", "~> 6.0"),
        ("6.6", "~> 6.6.0"),
        ("6.6.1", "= 6.6.1"),
        ("8.0.0.beta1", "= 8.0.0.beta1"),
    ] {
        assert_eq!(requirement(version), wanted);
    }
}

#[test]
fn a_gem_of_the_gemfile_is_taken_in_another_version() {
    let app = App::new(GEMFILE);
    for (asked, found) in [("2", "2.0.0"), ("1.0", "1.0.3"), ("1.1.0", "1.1.0")] {
        let bundle = app.made(&[("gem.probe", asked)]).unwrap().unwrap();
        assert_eq!(bundle.versions["probe"], found);
        assert!(bundle.environment["BUNDLE_GEMFILE"].ends_with("run/bundles/0/Gemfile"));
        assert!(
            app.file("run/bundles/0/Gemfile.lock")
                .contains(&format!("probe ({found})"))
        );
    }
    // The application's own files are as they were.
    assert_eq!(app.file("app/Gemfile"), GEMFILE);
    assert!(!app.dir.path().join("app/Gemfile.lock").exists());
}

#[test]
fn a_gem_that_the_gemfile_does_not_name_is_added() {
    let app = App::new("source \"https://rubygems.org\"\n");
    let bundle = app.made(&[("gem.probe", "1.0")]).unwrap().unwrap();
    assert_eq!(bundle.versions["probe"], "1.0.3");
}

#[test]
fn what_is_not_installed_is_refused_with_the_command_that_installs_it() {
    let app = App::new(GEMFILE);
    let why = app.made(&[("gem.probe", "3.1")]).unwrap_err();
    assert!(
        why.starts_with("gem.probe=3.1: Could not find gem "),
        "{why}"
    );
    assert!(why.contains("probe (~> 3.1.0)"), "{why}");
    assert!(
        why.contains("gem install probe --version '~> 3.1.0'"),
        "{why}"
    );
    std::fs::remove_file(app.dir.path().join("app/Gemfile")).unwrap();
    let why = app.made(&[("gem.probe", "1.0")]).unwrap_err();
    assert!(why.contains("there is no Gemfile in "), "{why}");
}

#[test]
fn the_settings_of_the_application_s_bundle_hold() {
    let app = App::new(GEMFILE);
    let settings = app.dir.path().join("app/.bundle");
    std::fs::create_dir(&settings).unwrap();
    let config = "---\nBUNDLE_FROZEN: \"true\"\nBUNDLE_DEPLOYMENT: \"true\"\nBUNDLE_WITHOUT: \"test:lint\"\n\
                  BUNDLE_GEMS__EXAMPLE__COM: \"user:hunter2\"\n";
    std::fs::write(settings.join("config"), config).unwrap();
    // Of the gems below vendor/bundle, of which there are none.
    let why = app.made(&[("gem.probe", "1.0")]).unwrap_err();
    assert!(why.contains("probe"), "{why}");
    let copied = app.file("run/bundles/0/.bundle/config");
    assert!(copied.contains("BUNDLE_WITHOUT: \"test:lint\""), "{copied}");
    assert!(!copied.contains("hunter2"), "{copied}");
    assert!(copied.contains("app/vendor/bundle"), "{copied}");
    assert!(
        !copied.contains("FROZEN") && !copied.contains("DEPLOYMENT"),
        "{copied}"
    );
    assert_eq!(app.file("app/.bundle/config"), config);
}

#[test]
fn a_bundler_around_powerband_and_its_settings_change_nothing() {
    let app = App::new(GEMFILE);
    let own_lock = app
        .dir
        .path()
        .join("app/Gemfile.lock")
        .display()
        .to_string();
    let around = [
        ("BUNDLE_LOCKFILE", own_lock.as_str()),
        ("BUNDLER_VERSION", "1.0.0"),
        ("BUNDLE_FROZEN", "true"),
    ];
    let bundle = app.made_with(&[("gem.probe", "2")], &around);
    assert_eq!(bundle.unwrap().unwrap().versions["probe"], "2.0.0");
    assert!(!Path::new(&own_lock).exists());
    // Another Gemfile of the application's settings.
    let settings = app.dir.path().join("app/.bundle");
    std::fs::create_dir(&settings).unwrap();
    std::fs::write(
        settings.join("config"),
        "---\nBUNDLE_GEMFILE: \"next.gemfile\"\n",
    )
    .unwrap();
    let next = format!("puts 'a Gemfile may print'\n{GEMFILE}");
    std::fs::write(app.dir.path().join("app/next.gemfile"), next).unwrap();
    let bundle = app.made(&[("gem.probe", "2.0.0")]).unwrap().unwrap();
    assert_eq!(bundle.versions["probe"], "2.0.0");
    assert!(
        app.file("run/bundles/0/Gemfile")
            .contains("app/next.gemfile")
    );
    assert!(!app.dir.path().join("app/next.gemfile.lock").exists());
}

#[test]
fn a_gem_from_elsewhere_is_taken_from_the_installed_ones() {
    for line in [
        "gem \"probe\", gitlab: \"us/probe\", require: false",
        "path(\"engines\") { gem \"probe\" }",
    ] {
        let app = App::new(&format!("source \"https://rubygems.org\"\n{line}\n"));
        std::fs::create_dir(app.dir.path().join("app/engines")).unwrap();
        let bundle = app.made(&[("gem.probe", "1.0")]).unwrap().unwrap();
        assert_eq!(bundle.versions["probe"], "1.0.3", "{line}");
    }
}

#[test]
fn a_variable_that_the_gemfile_reads_makes_another_bundle() {
    let app = App::new("source \"https://rubygems.org\"\ngem \"probe\"\n");
    let mut bundles = Bundles::default();
    for (value, number) in [("1", 0), ("2", 1), ("1", 0)] {
        let overlay = Overlay::of(&[("gem.probe", "1.0"), ("env.EDGE", value)]).unwrap();
        let resolver = Resolver {
            app_dir: &app.dir.path().join("app"),
            scratch: &app.dir.path().join("run"),
            ruby: OsStr::new("ruby"),
            env: app.env(&[]),
        };
        bundles.make(&overlay, &resolver).unwrap();
        let folder = format!("bundles/{number}/Gemfile");
        let environment = &bundles.of(&overlay).unwrap().environment;
        assert!(
            environment["BUNDLE_GEMFILE"].ends_with(&folder),
            "{environment:?}"
        );
    }
    // An error in the Gemfile is not a missing gem.
    std::fs::write(
        app.dir.path().join("app/Gemfile"),
        "gem 'probe'\nthis is no Gemfile\n",
    )
    .unwrap();
    let why = app.made(&[("gem.probe", "1.0")]).unwrap_err();
    assert!(!why.contains("gem install"), "{why}");
}

#[test]
fn another_ruby_needs_a_bundle_only_where_the_gemfile_refuses_it() {
    for (line, refused) in [
        ("", false),
        ("ruby \">= 3.2\"\n", false),
        ("ruby \"1.8.7\"\n", true),
    ] {
        let app = App::new(&format!("{GEMFILE}{line}"));
        let bundle = app.made(&[("ruby", "ruby")]).unwrap();
        assert_eq!(bundle.is_some(), refused, "{line}");
    }
    let app = App::new(GEMFILE);
    std::fs::remove_file(app.dir.path().join("app/Gemfile")).unwrap();
    assert_eq!(app.made(&[("ruby", "ruby")]).unwrap(), None);
}
