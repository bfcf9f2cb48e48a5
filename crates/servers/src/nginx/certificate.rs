//! A certificate of one start: for 127.0.0.1, signed by itself, with a key that only the user can read.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::StartError;
use crate::files::{failed, private_file};
use crate::installed;

pub(super) const CERTIFICATE: &str = "certificate.pem";
pub(super) const KEY: &str = "key.pem";
const DAYS: &str = "30";

/// No authority of anything, so that clients that distinguish the two take it for a server's.
const REQUEST: &str = "[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = localhost
[extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, DNS:localhost
";

pub(super) struct Certificate {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

pub(super) fn make(folder: &Path) -> Result<Certificate, StartError> {
    let program = installed::find(Path::new("openssl"), "openssl")?;
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    let request = folder.join("certificate.conf");
    private_file(&request, REQUEST)?;
    // Made first, so that it is private from its first byte on.
    private_file(&key, "")?;
    let output = Command::new(&program)
        .args(["req", "-x509", "-batch", "-nodes", "-days", DAYS])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .arg("-config")
        .arg(&request)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stdin(Stdio::null())
        .output()
        .map_err(failed("run", &program))?;
    if output.status.success() {
        return Ok(Certificate { certificate, key });
    }
    Err(StartError::Refused {
        what: "openssl",
        said: String::from_utf8_lossy(&output.stderr).trim().to_string(),
    })
}
