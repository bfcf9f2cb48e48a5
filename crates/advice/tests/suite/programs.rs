//! What is written, read by the programs that it is for. `script/bootstrap` installs Ruby, nginx and Apache; systemd, where
//! a machine has none, is left out, and so is Apache's Passenger where the Ruby is the user's own.

use crate::support::{everything, written};
use advice::Server;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, words: &[&str]) -> Output {
    let paths = std::env::var("PATH").unwrap_or_default();
    Command::new(program)
        .args(words)
        .env("PATH", format!("{paths}:/usr/sbin"))
        .env_remove("RUBYOPT")
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}"))
}

fn said(program: &str, words: &[&str]) -> String {
    let output = run(program, words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn there(program: &str) -> bool {
    let folders = ["/usr/sbin", "/usr/bin"].map(Path::new);
    folders.iter().any(|folder| folder.join(program).exists())
}

fn at(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[test]
fn puma_reads_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (text, _) = written(
        Server::Puma,
        "config/puma.rb",
        "threads 1, 2\nif x = 1\n  workers 9\nend\n",
    );
    let path = at(folder.path(), "puma.rb");
    fs::write(&path, text).unwrap();
    let program = "require 'puma'; require 'puma/configuration'
      c = Puma::Configuration.new { |u| u.load ARGV[0] }
      c.load; c.clamp
      print [:workers, :min_threads, :max_threads, :preload_app, :wait_for_less_busy_worker, :fork_worker]
        .map { |k| c.options[k].inspect }.join(' ')";
    assert_eq!(
        said("ruby", &["-e", program, &path]),
        "2 5 5 false 0.01 500"
    );
}

#[test]
fn unicorns_file_is_ruby() {
    let folder = tempfile::tempdir().unwrap();
    let (text, _) = written(Server::Unicorn, "config/unicorn.rb", "worker_processes 9\n");
    let path = at(folder.path(), "unicorn.rb");
    fs::write(&path, text).unwrap();
    // Its own class needs the C extension, which a user's Ruby may lack.
    let program = "said = {}
      reader = Object.new
      reader.define_singleton_method(:method_missing) { |name, value| said[name] = value }
      reader.instance_eval File.read(ARGV[0])
      print said.inspect.delete(' ')";
    assert_eq!(
        said("ruby", &["-e", program, &path])
            .replace(':', "")
            .replace("=>", ""),
        "{worker_processes2,preload_appfalse}"
    );
}

#[test]
fn a_shell_reads_the_values_back() {
    let folder = tempfile::tempdir().unwrap();
    let recommended = everything(Server::Puma);
    let (text, _) = written(Server::Puma, ".env", "A='it\n'\nexport TABLE=\n");
    let path = at(folder.path(), "env");
    fs::write(&path, text).unwrap();
    for variable in &recommended.variables {
        let program = format!("set -e; . {path}; printf %s \"${}\"", variable.name);
        assert_eq!(said("sh", &["-c", &program]), variable.value);
    }
}

#[test]
fn rails_would_see_pools_that_are_large_enough_and_all_else_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let before = include_str!("../databases.yml");
    let (text, _) = written(Server::Puma, "config/database.yml", before);
    let (old, new) = (at(folder.path(), "old.yml"), at(folder.path(), "new.yml"));
    fs::write(&old, before).unwrap();
    fs::write(&new, text).unwrap();
    let program = "require 'yaml'; require 'erb'
      old, new = ARGV.map { |f| YAML.load(ERB.new(File.read(f)).result, aliases: true)['production'] }
      print new.values.map { |d| d['pool'] }.join(' ')
      [old, new].each { |all| all.each_value { |d| d.delete 'pool' } }
      print old == new";
    assert_eq!(said("ruby", &["-e", program, &old, &new]), "5 5 20 5true");
}

#[test]
fn ruby_reads_the_same_manifest_but_for_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let before = "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: shop\n        image: shop:1\n        \
                  env:\n        - name: KEY\n          value: hunter2\n        - {name: WEB_CONCURRENCY, value: '9'}\n        \
                  resources: {requests: {cpu: 2}}\n---\nkind: Service\n";
    let (text, _) = written(Server::Puma, "shop.yml", before);
    let path = at(folder.path(), "shop.yml");
    fs::write(&path, text).unwrap();
    let program = "require 'yaml'
      shop, service = YAML.load_stream(File.read(ARGV[0]))
      container = shop.dig('spec', 'template', 'spec', 'containers', 0)
      env = container['env'].to_h(&:values)
      print [service, container['resources'], env.values_at('KEY', 'WEB_CONCURRENCY', 'TABLE')]";
    let resources =
        r#"{"limits"=>{"memory"=>"1Gi", "cpu"=>"1500m"}, "requests"=>{"cpu"=>"1500m"}}"#;
    let expected = format!(r#"[{{"kind"=>"Service"}}, {resources}, ["hunter2", "2", "a b\\"]]"#);
    let said = said("ruby", &["-e", program, &path]).replace(" => ", "=>");
    assert_eq!(said, expected);
}

#[test]
fn nginx_takes_what_is_written() {
    if !there("nginx") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().display();
    let before = format!(
        "pid {scratch}/pid;\nerror_log {scratch}/error;\nevents {{}}\nhttp {{\n  access_log off;\n  client_body_temp_path {scratch}/b;\n  proxy_temp_path {scratch}/p;\n  fastcgi_temp_path {scratch}/f;\n  uwsgi_temp_path {scratch}/u;\n  scgi_temp_path {scratch}/s;\n  upstream shop {{\n    least_conn;\n    server 127.0.0.1:1;\n  }}\n  server {{\n    listen 127.0.0.1:1;\n    location / {{ proxy_pass http://shop; }}\n  }}\n}}\n"
    );
    let (text, said) = written(Server::Puma, "nginx.conf", &before);
    for line in [
        "worker_processes 2;",
        "keepalive 16;",
        "proxy_buffers 16 16k;",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(said.notes.len(), 1, "{:?}", said.notes);
    let path = at(folder.path(), "nginx.conf");
    fs::write(&path, text).unwrap();
    let output = run("nginx", &["-T", "-q", "-c", &path]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // As another user it may not bind the port, which -t does not try: only what is said of the file counts.
    assert!(output.status.success(), "{stderr}");
}

#[test]
fn apache_takes_what_is_written() {
    let module = "/usr/lib/apache2/modules/mod_passenger.so";
    if !there("apache2") || !Path::new(module).exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().display();
    let modules = "/usr/lib/apache2/modules";
    let before = format!(
        "ServerRoot {scratch}\nServerName localhost\nPidFile {scratch}/pid\nErrorLog {scratch}/error\nListen 127.0.0.1:1\nLoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\nLoadModule passenger_module {module}\n<IfModule mod_passenger.c>\n  PassengerMaxPoolSize 9\n</IfModule>\n<VirtualHost *:1>\n  PassengerMinInstances 1\n</VirtualHost>\n"
    );
    let (text, said) = written(Server::Passenger, "passenger.conf", &before);
    assert!(
        text.contains("PassengerMaxPoolSize 2") && text.contains("  PassengerMinInstances 2"),
        "{text}"
    );
    assert!(said.notes.is_empty(), "{:?}", said.notes);
    let path = at(folder.path(), "apache.conf");
    fs::write(&path, &text).unwrap();
    let output = run("apache2", &["-t", "-f", &path]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}{text}");
}

#[test]
fn systemd_takes_what_is_written() {
    if !there("systemd-analyze") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = "[Unit]\nDescription=Shop\n[Service]\nExecStart=/bin/true\n";
    let (text, _) = written(Server::Puma, "powerband.conf", unit);
    let path = at(folder.path(), "shop.service");
    fs::write(&path, &text).unwrap();
    let output = run(
        "systemd-analyze",
        &["verify", "--man=no", "--generators=no", &path],
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    let ours = stderr.lines().filter(|line| line.contains("shop.service"));
    let ours: Vec<&str> = ours.collect();
    assert!(ours.is_empty(), "{stderr}{text}");
}

#[test]
fn diffs_can_be_applied() {
    let folder = tempfile::tempdir().unwrap();
    let before = "FROM ruby\r\nRUN x\r\nUSER app\r\nCMD puma\r\n";
    let (text, said) = written(Server::Puma, "Dockerfile", before);
    fs::write(folder.path().join("Dockerfile"), before).unwrap();
    fs::write(folder.path().join("diff"), &said.changes[0].diff).unwrap();
    let directory = folder.path().display().to_string();
    said_git(&directory);
    assert_eq!(
        fs::read_to_string(folder.path().join("Dockerfile")).unwrap(),
        text
    );
}

/// As `docs/advice.md` says: no unchanged line is shown, so that git takes them with the flag alone.
#[test]
fn diffs_without_context_need_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let before = "A=1\nB=2\nRAILS_MAX_THREADS=3\nC=3\nD=4\n";
    let (text, said) = written(Server::Puma, ".env", before);
    let path = folder.path().join(".env");
    fs::write(&path, before).unwrap();
    fs::write(folder.path().join("diff"), &said.changes[0].diff).unwrap();
    let directory = folder.path().display().to_string();
    let plain = run("git", &["-C", &directory, "apply", "diff"]);
    assert!(!plain.status.success());
    said_git(&directory);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn diffs_of_the_servers_own_files_need_no_flag() {
    let folder = tempfile::tempdir().unwrap();
    let before = "port 3000\nthreads 1, 2\nenvironment 'production'\nquiet\n";
    let (text, said) = written(Server::Puma, "config/puma.rb", before);
    let path = folder.path().join("config/puma.rb");
    fs::create_dir(folder.path().join("config")).unwrap();
    fs::write(&path, before).unwrap();
    fs::write(folder.path().join("diff"), &said.changes[0].diff).unwrap();
    let directory = folder.path().display().to_string();
    self::said("git", &["-C", &directory, "apply", "diff"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

fn said_git(directory: &str) {
    said("git", &["-C", directory, "apply", "--unidiff-zero", "diff"]);
}
