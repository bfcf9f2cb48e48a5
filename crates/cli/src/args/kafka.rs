//! How Kafka is reached, in addition to an address such as `kafka://HOST:PORT/TOPIC`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub struct KafkaArgs {
    /// File with user:password for a kafka:// address [else the variable POWERBAND_KAFKA_LOGIN]
    #[arg(long, value_name = "FILE", help_heading = "Kafka")]
    pub kafka_login_file: Option<PathBuf>,
    /// PEM file of the authorities to trust for kafka+tls://, in place of the system's
    #[arg(
        long,
        value_name = "FILE",
        env = "POWERBAND_KAFKA_CA",
        help_heading = "Kafka"
    )]
    pub kafka_ca: Option<PathBuf>,
}
