//! The services of a trial: their ports, folders and filled templates.

use super::Serving;
use crate::bench::Bench;
use crate::config::filled;
use crate::error::Failure;
use crate::place::Place;
use crate::request::Service;
use servers::{Ready, ServiceSpec};
use std::collections::BTreeMap;
use std::path::Path;

/// The services of a trial, which run along with its server.
pub(super) struct Beside {
    /// In the order in which they are started.
    pub services: Vec<ServiceSpec>,
    /// Variables in which the server gets their ports.
    pub told: BTreeMap<String, String>,
}

/// The services of an arm. Each gets the ports of all, so that one may stand in front of another.
pub(super) fn of_trial(bench: &Bench<'_>, serving: &Serving<'_>) -> Result<Beside, Failure> {
    let experiment = bench.experiment;
    let place = bench.place(serving.arm);
    let mut ports = Vec::new();
    let mut told = BTreeMap::new();
    let mut values = serving.arm.overlay.placeholders();
    for service in &experiment.services {
        let port = servers::free_port().map_err(|e| {
            Failure::Fatal(format!("no port for the service {}: {e}", service.name))
        })?;
        if let Some(variable) = &service.port_env {
            told.insert(variable.clone(), port.to_string());
            values.insert(variable.clone(), port.to_string());
        }
        ports.push(port);
    }
    let mut services = Vec::new();
    for (number, (service, port)) in experiment.services.iter().zip(ports).enumerate() {
        // A name is for messages, and may hold what a path may not.
        let folder = serving.folder.join(format!("service-{}", number + 1));
        services.push(spec(place, service, port, &folder, &values, &told)?);
    }
    Ok(Beside { services, told })
}

fn spec(
    place: &Place,
    service: &Service,
    port: u16,
    folder: &Path,
    values: &BTreeMap<String, String>,
    told: &BTreeMap<String, String>,
) -> Result<ServiceSpec, Failure> {
    let mut values = values.clone();
    values.insert("port".to_owned(), port.to_string());
    values.insert("dir".to_owned(), folder.display().to_string());
    let fatal = |what: String| Failure::Fatal(format!("the service {}: {what}", service.name));
    if service.command.contains("{dir}") || service.template.is_some() {
        std::fs::create_dir_all(folder).map_err(|e| fatal(format!("{}: {e}", folder.display())))?;
    }
    if let Some(template) = &service.template {
        let text = std::fs::read_to_string(template)
            .map_err(|e| fatal(format!("{}: {e}", template.display())))?;
        let name = template.file_name().unwrap_or_default();
        let path = folder.join(name);
        // What fills it may be a secret.
        servers::private_file(&path, &filled(&text, &values)).map_err(|e| fatal(e.to_string()))?;
        values.insert("template".to_owned(), path.display().to_string());
    }
    // Filled word by word, so that a value with a space stays one word.
    let words = servers::split_words(&service.command)
        .map_err(|e| fatal(format!("its command: {e}; close its quotes")))?;
    let mut env = place.env.clone();
    env.extend(told.clone());
    let ready = service
        .ready_path
        .as_ref()
        .map_or(Ready::Port(port), |path| {
            Ready::Url(format!("http://127.0.0.1:{port}{path}"))
        });
    Ok(ServiceSpec {
        name: service.name.clone(),
        command: words.iter().map(|word| filled(word, &values)).collect(),
        cwd: place.base_dir.clone(),
        env,
        ready: Some(ready),
    })
}
