//! Kafka, asked by blocking calls. The client's tasks, such as a group's heartbeats, run on one thread of their own.

use crate::{Access, Address, KafkaError, Mechanism, Member, Message, Place, Reading, Writer};
use krafka::admin::{ConsumerGroupDescription, ListOffsetsOptions, NewTopic, OffsetSpec};
use krafka::auth::{AuthConfig, TlsConfig};
use krafka::consumer::{AutoOffsetReset, Consumer, ConsumerRecord, TopicPartition};
use krafka::error::ErrorCode;
use krafka::{Kafka, KrafkaError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Messages that one poll brings: each poll also asks for positions.
pub(crate) const MOST_POLLED: i32 = 10_000;
/// A document of 256 pages with all its histograms; a request and an answer, each with the largest body.
pub(crate) const MOST_MESSAGE: usize = 64 << 20;

/// Brokers, one topic of which is meant.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) kafka: Kafka,
    pub(crate) address: Address,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cluster").field(&self.address).finish()
    }
}

impl Cluster {
    /// Asks the brokers of an address.
    ///
    /// # Errors
    /// None answers, or they refuse the login or the certificate is not theirs.
    pub fn connect(address: &Address, access: &Access) -> Result<Self, KafkaError> {
        let unreachable = |why: String| KafkaError::Unreachable {
            address: address.to_string(),
            why,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kafka")
            .enable_all()
            .build()
            .map_err(|e| unreachable(e.to_string()))?;
        let builder = Kafka::builder(address.brokers.join(","))
            .client_id("powerband")
            .security(security(address, access))
            .connect_timeout(CONNECT)
            .allow_auto_create_topics(false);
        let kafka = runtime
            .block_on(builder.connect())
            .map_err(|e| unreachable(e.to_string()))?;
        Ok(Self {
            runtime: Arc::new(runtime),
            kafka,
            address: address.clone(),
        })
    }

    /// Makes a topic where there is none, with as many copies as the brokers make by default and messages of [`MOST_MESSAGE`].
    ///
    /// # Errors
    /// It can be neither found nor made.
    pub fn have_topic(&self, topic: &str, partitions: u32) -> Result<(), KafkaError> {
        let what = || format!("the topic {topic} cannot be made");
        let wrong = |e: KrafkaError| failed(what(), &e);
        let count = i32::try_from(partitions).unwrap_or(i32::MAX);
        let mut new = NewTopic::new(topic, count, -1).map_err(wrong)?;
        // Kafka removes messages by their timestamps: recorded ones of last month would go at once.
        new.configs.insert(
            "message.timestamp.type".to_owned(),
            "LogAppendTime".to_owned(),
        );
        new.configs
            .insert("max.message.bytes".to_owned(), MOST_MESSAGE.to_string());
        match self.counted(topic)? {
            Some((_, true)) => return Ok(()),
            Some((_, false)) => return self.until_led(topic),
            None => {}
        }
        let admin = self.kafka.admin();
        let made = self
            .runtime
            .block_on(admin.create_topics([new], Default::default()))
            .map_err(wrong)?;
        for made in made.into_values() {
            // Another generator may be faster.
            made.or_else(|e| match code(&e) {
                Some(ErrorCode::TopicAlreadyExists) => Ok(()),
                _ => Err(wrong(e)),
            })?;
        }
        self.until_led(topic)
    }

    /// A new topic has no leaders at first.
    fn until_led(&self, topic: &str) -> Result<(), KafkaError> {
        let ends = std::time::Instant::now() + CONNECT;
        while std::time::Instant::now() < ends {
            if self.counted(topic)?.is_some_and(|(_, led)| led) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(KafkaError::Late {
            what: format!("the topic {topic} has no leaders yet"),
            limit: CONNECT,
        })
    }

    /// How many partitions a topic has, all of them with leaders.
    fn existing(&self, topic: &str) -> Result<u32, KafkaError> {
        match self.counted(topic)? {
            Some((count, true)) => Ok(count),
            Some((_, false)) => Err(KafkaError::Failed {
                what: format!("the topic {topic} cannot be used"),
                why: "a partition has no leader".to_owned(),
            }),
            None => Err(KafkaError::NoTopic {
                address: self.address.to_string(),
            }),
        }
    }

    /// The number of partitions of a topic, and whether each has a leader; `None` if there is no such topic.
    fn counted(&self, topic: &str) -> Result<Option<(u32, bool)>, KafkaError> {
        let admin = self.kafka.admin();
        let wrong = |e: &KrafkaError| failed(format!("the topic {topic} cannot be described"), e);
        let described = self
            .runtime
            .block_on(admin.describe_topics([topic], Default::default()))
            .map_err(|e| wrong(&e))?;
        let partitions = match described.into_values().next() {
            None => return Ok(None),
            Some(Ok(topic)) => topic.partitions,
            Some(Err(e)) => match code(&e) {
                Some(ErrorCode::UnknownTopicOrPartition) => return Ok(None),
                Some(ErrorCode::LeaderNotAvailable) => Vec::new(),
                _ => return Err(wrong(&e)),
            },
        };
        let led = !partitions.is_empty() && partitions.iter().all(|one| one.leader.is_some());
        Ok(Some((
            u32::try_from(partitions.len()).unwrap_or(u32::MAX),
            led,
        )))
    }

    /// How many partitions the topic of the address has.
    ///
    /// # Errors
    /// The topic does not exist, a partition has no leader, or the cluster cannot be asked.
    pub fn must_have(&self) -> Result<u32, KafkaError> {
        self.existing(&self.address.topic)
    }

    /// The offset before the first message, or after the last one, of each partition.
    pub(crate) fn offsets(
        &self,
        topic: &str,
        partitions: &[i32],
        last: bool,
    ) -> Result<BTreeMap<i32, i64>, KafkaError> {
        let spec = || match last {
            true => OffsetSpec::Latest,
            false => OffsetSpec::Earliest,
        };
        let what = || format!("the offsets of {topic} cannot be read");
        let wanted = partitions
            .iter()
            .map(|partition| (TopicPartition::new(topic, *partition), spec()));
        let admin = self.kafka.admin();
        let options = ListOffsetsOptions::default();
        let found = self
            .runtime
            .block_on(admin.list_offsets(wanted, options))
            .map_err(|e| failed(what(), &e))?;
        let found = found.into_iter().map(|(place, offset)| {
            let offset = offset.map_err(|e| failed(what(), &e))?;
            Ok((place.partition, offset.offset))
        });
        found.collect()
    }

    /// Reads a topic from its first message on.
    ///
    /// # Errors
    /// The topic does not exist, a partition has no leader, or the cluster cannot be asked.
    pub fn reading(&self, topic: &str) -> Result<Reading, KafkaError> {
        let count = self.existing(topic)?;
        let all: Vec<i32> = (0..count).filter_map(|n| i32::try_from(n).ok()).collect();
        let next = self.offsets(topic, &all, false)?;
        Ok(Reading {
            consumer: self.reader(topic, all, &next)?,
            cluster: self.clone(),
            topic: topic.to_owned(),
            next,
        })
    }

    /// A consumer of these partitions from these offsets on, in no group.
    pub(crate) fn reader(
        &self,
        topic: &str,
        partitions: Vec<i32>,
        from: &BTreeMap<i32, i64>,
    ) -> Result<Consumer, KafkaError> {
        let started = async {
            let consumer = self
                .kafka
                .consumer_without_group()
                .auto_offset_reset(AutoOffsetReset::Earliest)
                .metrics_push(false)
                .max_poll_records(MOST_POLLED)
                .fetch_max_wait(Duration::from_millis(100))
                .build()
                .await?;
            consumer.assign(topic, partitions.clone()).await?;
            for partition in &partitions {
                if let Some(offset) = from.get(partition) {
                    consumer.seek(topic, *partition, *offset).await?;
                }
            }
            Ok(consumer)
        };
        self.runtime
            .block_on(started)
            .map_err(|e: KrafkaError| failed(format!("the topic {topic} cannot be read"), &e))
    }

    /// Sends messages to the topic, at most so many bytes of which wait here.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    pub fn writer(&self, most_waiting: u64) -> Result<Writer, KafkaError> {
        Writer::start(self.clone(), most_waiting)
    }

    /// The members of a consumer group.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    pub fn members(&self, group: &str) -> Result<Vec<String>, KafkaError> {
        let described = self.described(group)?;
        let members = described.map(|group| group.members).unwrap_or_default();
        Ok(members.into_iter().map(|one| one.member_id).collect())
    }

    pub(crate) fn described(
        &self,
        group: &str,
    ) -> Result<Option<ConsumerGroupDescription>, KafkaError> {
        let what = || format!("the group {group} cannot be described");
        let admin = self.kafka.admin();
        let described = admin.describe_consumer_groups([group], Default::default());
        let described = self
            .runtime
            .block_on(described)
            .map_err(|e| failed(what(), &e))?;
        let described = described.into_values().next().transpose();
        described.map_err(|e| failed(what(), &e))
    }

    /// Joins a consumer group of the topic.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    pub fn join(&self, group: &str) -> Result<Member, KafkaError> {
        Member::join(self.clone(), group)
    }
}

fn security(address: &Address, access: &Access) -> AuthConfig {
    let login = access.login.as_ref().map(|login| {
        let (user, password) = (login.user.clone(), login.password.clone());
        match address.mechanism {
            Mechanism::Plain => AuthConfig::sasl_plain(user, password),
            Mechanism::ScramSha256 => AuthConfig::sasl_scram_sha256(user, password),
            Mechanism::ScramSha512 => AuthConfig::sasl_scram_sha512(user, password),
        }
    });
    let tls = address.tls.then(|| match &access.ca {
        Some(file) => TlsConfig::new().with_ca_cert(file.display().to_string()),
        None => TlsConfig::new().with_native_roots(),
    });
    match (login, tls) {
        (None, None) => AuthConfig::plaintext(),
        (None, Some(tls)) => AuthConfig::ssl(tls),
        (Some(login), None) => login,
        (Some(login), Some(tls)) => login.with_tls(tls),
    }
}

pub(crate) fn failed(what: String, error: &KrafkaError) -> KafkaError {
    KafkaError::Failed {
        what,
        why: error.to_string(),
    }
}

/// What the brokers answered, where they did.
pub(crate) fn code(error: &KrafkaError) -> Option<ErrorCode> {
    match error {
        KrafkaError::Broker { code, .. } => Some(*code),
        _ => None,
    }
}

/// What a poll for messages of the topic brought. After an error that passes it is nothing: the caller polls again.
pub(crate) fn polled(
    polled: Result<Vec<ConsumerRecord>, KrafkaError>,
    topic: &str,
) -> Result<Vec<ConsumerRecord>, KafkaError> {
    polled.or_else(|e| match e.is_retriable() {
        true => Ok(Vec::new()),
        false => Err(failed(format!("the topic {topic} cannot be read"), &e)),
    })
}

pub(crate) fn message(record: ConsumerRecord) -> (Place, Message) {
    let place = Place {
        partition: record.partition,
        offset: record.offset,
    };
    let headers = record.headers.into_iter();
    let message = Message {
        key: record.key.unwrap_or_default().to_vec(),
        value: record.value.unwrap_or_default().to_vec(),
        headers: headers
            .map(|(name, value)| (name, value.unwrap_or_default().to_vec()))
            .collect(),
        at_ms: record.timestamp,
    };
    (place, message)
}
