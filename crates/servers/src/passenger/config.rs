//! Apache's configuration as text, and whether Apache takes it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::folders::Folders;
use crate::error::StartError;
use crate::files::failed;
use crate::spec::{PassengerSpec, ServerSpec};

/// Apache's modules that it cannot do without.
pub(super) const APACHES: [&str; 3] = ["mpm_event", "authz_core", "env"];
/// Without these it starts too.
const WHERE_THERE: [&str; 1] = ["mime"];

pub(super) struct Facts<'a> {
    pub(super) spec: &'a ServerSpec,
    pub(super) passenger: &'a PassengerSpec,
    pub(super) port: u16,
    pub(super) ruby: &'a Path,
    pub(super) folders: &'a Folders,
    pub(super) app_env: &'a str,
    /// The application's folder for temporary files, which is not Passenger's.
    pub(super) app_temporary: &'a Path,
}

/// What Passenger sets for whom it runs the application as, whatever it finds in its environment.
const OF_THE_USER: [&str; 4] = ["HOME", "LOGNAME", "SHELL", "USER"];
/// Names the folder for temporary files.
pub(super) const TMPDIR: &str = "TMPDIR";

pub(super) fn text(facts: &Facts<'_>) -> String {
    let Facts {
        spec,
        passenger,
        port,
        ruby,
        folders,
        app_env,
        app_temporary,
    } = facts;
    let module = |name: &str| passenger.modules.join(format!("mod_{name}.so"));
    let load = |name| format!("LoadModule {name}_module {}\n", quoted(&module(name)));
    let types = WHERE_THERE.iter().filter(|name| module(name).is_file());
    let types: String = types.map(|name| load(name)).collect();
    let types_file = Path::new("/etc/mime.types");
    let types = if !types.is_empty() && types_file.is_file() {
        format!("{types}TypesConfig {}\n", quoted(types_file))
    } else {
        String::new()
    };
    let servant = folders.servant.as_ref().map_or_else(String::new, |user| {
        format!("User #{}\nGroup #{}\n", user.uid, user.gid)
    });
    let user = folders
        .user
        .as_ref()
        .map_or_else(String::new, |name| format!("PassengerDefaultUser {name}\n"));
    let given = OF_THE_USER
        .iter()
        .filter_map(|name| Some((name, spec.env.get(*name)?)));
    let of_the_user: String = given
        .map(|(name, value)| format!("SetEnv {name} {}\n", quoted(Path::new(value))))
        .collect();
    let method = if spec.settings.preload {
        "smart"
    } else {
        "direct"
    };
    format!(
        "# Written by powerband for one start of Apache.
ServerRoot {whole}
ServerName localhost
Listen 127.0.0.1:{port}
DefaultRuntimeDir {run}
PidFile {pid}
ErrorLog {log}
{servant}{apaches}{passenger_module}{types}
PassengerRoot {root}
PassengerRuby {ruby}
PassengerInstanceRegistryDir {instances}
PassengerDataBufferDir {buffers}
PassengerSpawnDir {temporary}
SetEnv {TMPDIR} {app_temporary}
{of_the_user}PassengerUserSwitching off
{user}PassengerLoadShellEnvvars off
PassengerDisableSecurityUpdateCheck on
PassengerDisableAnonymousTelemetry on
PassengerFriendlyErrorPages off
PassengerMaxPoolSize {workers}
PassengerMinInstances {least}
PassengerMaxInstancesPerApp {most}
PassengerMaxRequestQueueSize {queue}
PassengerPoolIdleTime {idle_s}
PassengerMaxRequests {requests}
PassengerSpawnMethod {method}
PassengerStartTimeout {start_s}
PassengerAppEnv {app_env}
PassengerAppRoot {app}
PassengerAppType rack
PassengerStartupFile config.ru
DocumentRoot {public}
<Directory {public}>
  Require all granted
</Directory>
",
        whole = quoted(&folders.whole),
        run = quoted(&folders.run),
        pid = quoted(&folders.run.join("apache.pid")),
        log = quoted(&spec.log_path),
        apaches = APACHES.map(load).concat(),
        passenger_module = load("passenger"),
        root = quoted(&passenger.root),
        ruby = quoted(ruby),
        instances = quoted(&folders.instances),
        buffers = quoted(&folders.buffers),
        temporary = quoted(&folders.temporary),
        app_temporary = quoted(app_temporary),
        workers = spec.settings.workers,
        least = passenger.min_instances,
        most = passenger.max_instances_per_app,
        queue = passenger.max_request_queue_size,
        idle_s = passenger.pool_idle_time.as_secs(),
        requests = passenger.max_requests,
        start_s = spec.boot_timeout.as_secs().max(1),
        app_env = quoted(Path::new(app_env)),
        app = quoted(&spec.app_dir),
        public = quoted(&folders.public),
    )
}

/// One word of Apache's.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(super) fn check(words: &[String]) -> Result<(), StartError> {
    let (program, arguments) = words.split_first().ok_or(StartError::EmptyCommand)?;
    let output = Command::new(program)
        .args(arguments)
        .arg("-t")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(failed("run", Path::new(program)))?;
    if output.status.success() {
        return Ok(());
    }
    Err(StartError::Refused {
        what: "Apache",
        said: String::from_utf8_lossy(&output.stderr).trim().to_string(),
    })
}
