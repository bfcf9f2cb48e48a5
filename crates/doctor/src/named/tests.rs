use super::*;

const TITLE: &str = "puma 6.6.0 (tcp://0.0.0.0:3000) [shop]";

struct Server {
    commands: Vec<Vec<String>>,
    variables: BTreeMap<String, String>,
    files: Vec<ConfigFile>,
    open: BTreeSet<PathBuf>,
}

impl Server {
    /// Each line of `commands` is one command, of words without spaces unless it is Puma's title.
    fn new(commands: &[&str]) -> Server {
        let words = |command: &&str| match command.contains('(') {
            true => vec![(*command).to_owned()],
            false => command.split(' ').map(str::to_owned).collect(),
        };
        Server {
            commands: commands.iter().map(words).collect(),
            variables: BTreeMap::new(),
            files: Vec::new(),
            open: BTreeSet::new(),
        }
    }

    fn with(mut self, name: &str, value: &str) -> Server {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn file(mut self, place: &str, text: &str) -> Server {
        let (place, text) = (place.to_owned(), text.to_owned());
        self.files.push(ConfigFile { place, text });
        self
    }

    /// As `rails new` of Rails 7.1 and later makes it.
    fn rails(self) -> Server {
        self.file("config/application.rb", "module Shop\nend\n")
            .file(
                "config/environments/development.rb",
                "# config.logger = nil\n",
            )
            .file(
                "config/environments/production.rb",
                "  config.logger = ActiveSupport::Logger.new(STDOUT)\n",
            )
            .file("config/environments/test.rb", "")
    }

    fn writes(mut self, path: &str) -> Server {
        self.open.insert(path.into());
        self
    }

    fn named(&self) -> Named {
        let clues = Clues {
            pid: 7,
            commands: &self.commands,
            variables: &self.variables,
            config_files: &Ok(self.files.clone()),
            open_files: &Ok(self.open.clone()),
            serves: true,
        };
        clues.named()
    }

    #[track_caller]
    fn is(&self, name: &str, from: &str) {
        let Named::As {
            name: found,
            from: place,
        } = self.named()
        else {
            panic!("{:?}", self.named());
        };
        assert_eq!(found, name, "{place}");
        assert!(place.contains(from), "{place}");
    }
}

#[test]
fn rails_takes_its_variable_before_the_servers_option() {
    let puma = || Server::new(&["ruby /usr/bin/puma -e production"]).rails();
    puma().is("production", "-e on its command line");
    puma()
        .with("RACK_ENV", "development")
        .is("production", "-e on");
    puma().with("APP_ENV", "test").is("production", "-e on");
    puma()
        .with("RAILS_ENV", "staging")
        .is("staging", "RAILS_ENV of process 7");
    // What is no Rails has the server's.
    let rack = Server::new(&["puma -e production"]).with("RAILS_ENV", "development");
    rack.is("production", "-e on");
    let unicorn_rails = Server::new(&["unicorn_rails -E production"]).rails();
    unicorn_rails
        .with("RAILS_ENV", "test")
        .is("production", "-E on");
}

#[test]
fn rails_server_completes_names_and_does_not_ask_pumas_file() {
    let server = |command: &str| {
        Server::new(&[command])
            .rails()
            .file("config/puma.rb", "environment 'staging'\n")
    };
    server("bin/rails s -e prod").is("production", "-e on");
    assert_eq!(
        server("bin/rails server").with("APP_ENV", "test").named(),
        Named::Unset
    );
    server("bin/rails server")
        .with("RACK_ENV", "test")
        .is("test", "RACK_ENV of");
}

#[test]
fn a_title_leaves_the_command_lines_above_it_and_the_logs() {
    Server::new(&[TITLE, "tini -- puma -e production"])
        .rails()
        .is("production", "-e on");
    let alone = || Server::new(&[TITLE, "bash"]).rails();
    alone().is("production", "only config/environments/production.rb");
    alone()
        .writes("/srv/shared/log/development.log")
        .is("development", "writes log/development.log");
    alone().with("RAILS_ENV", "test").is("test", "RAILS_ENV of");
    // Every environment might log elsewhere: nothing is guessed.
    let unseen = alone().file("config/environments/staging.rb", "config.logger = x\n");
    assert!(matches!(unseen.named(), Named::NotSeen(why) if why.contains("-e cannot be seen")));
    let worker = Server::new(&["puma: cluster worker 0: 6 [a (b)]"]);
    assert!(matches!(worker.named(), Named::NotSeen(_)));
    assert_eq!(Server::new(&["puma -p 1"]).named(), Named::Unset);
}

#[test]
fn pumas_file_stands_between_the_option_and_the_variables() {
    let says = |line: &str| {
        let text = format!("# environment 'a'\nthreads 3, 3\n{line}\n");
        Server::new(&["puma"])
            .with("RACK_ENV", "test")
            .file("config/puma.rb", &text)
    };
    says("environment \"production\"").is("production", "config/puma.rb:3");
    says("environment(:staging)").is("staging", "config/puma.rb:3");
    says("environment ENV.fetch(\"RACK_ENV\") { \"development\" }").is("test", "config/puma.rb:3");
    says("environment ENV['NONE'] || 'production'").is("production", "config/puma.rb:3");
    says("environment_of 'x'").is("test", "RACK_ENV of");
    assert!(matches!(
        says("environment chosen").named(),
        Named::NotSeen(_)
    ));
    let of_test = says("environment 'a'").file("config/puma/test.rb", "environment 'b'\n");
    of_test.is("b", "config/puma/test.rb:1");
    let named =
        Server::new(&["puma -C ./config/web.rb"]).file("config/web.rb", "environment 'c'\n");
    named.is("c", "config/web.rb:1");
}
