//! A generator in a consumer group.

use crate::client::{MOST_MESSAGE, MOST_POLLED, code, failed, message, polled};
use crate::{Cluster, Entry, Group, KafkaError, Message, Place};
use krafka::Record;
use krafka::consumer::{AutoOffsetReset, Consumer, OffsetAndMetadata, TopicPartition};
use krafka::error::ErrorCode;
use krafka::producer::Producer;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A member of which nothing is heard for so long has left.
const SESSION: Duration = Duration::from_secs(10);
const HEARTBEAT: Duration = Duration::from_secs(2);
/// `load merge` waits for the members of the group, so a generator must stay one until its replay ends.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// How long a result is offered to brokers that do not answer.
const OFFERED: Duration = Duration::from_secs(60);

/// Takes part until it is dropped.
pub struct Member {
    cluster: Cluster,
    group: String,
    consumer: Consumer,
    /// Reads the topic of the results.
    from_results: Consumer,
    producer: Producer,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Member").field(&self.group).finish()
    }
}

impl Member {
    pub(crate) fn join(cluster: Cluster, group: &str) -> Result<Self, KafkaError> {
        let results = cluster.address.results();
        cluster.have_topic(&results, 1)?;
        let ends = cluster.offsets(&results, &[0], true)?;
        let from_results = cluster.reader(&results, vec![0], &ends)?;
        let topic = cluster.address.topic.clone();
        let joined = async {
            let producer = cluster
                .kafka
                .producer()
                .linger(Duration::ZERO)
                .max_request_size(MOST_MESSAGE)
                .buffer_memory(2 * MOST_MESSAGE)
                .max_block(OFFERED)
                .delivery_timeout(OFFERED)
                .metrics_push(false)
                .build()
                .await?;
            let consumer = cluster
                .kafka
                .consumer(group)
                .auto_offset_reset(AutoOffsetReset::Earliest)
                .enable_auto_commit(false)
                .session_timeout(SESSION)
                .heartbeat_interval(HEARTBEAT)
                .max_poll_interval(LONGEST)
                .max_poll_records(MOST_POLLED)
                .metrics_push(false)
                .build()
                .await?;
            consumer.subscribe([&topic]).await?;
            Ok((producer, consumer))
        };
        let (producer, consumer) = cluster
            .runtime
            .block_on(joined)
            .map_err(|e| failed(format!("the group {group} cannot be joined"), &e))?;
        Ok(Self {
            group: group.to_owned(),
            cluster,
            consumer,
            from_results,
            producer,
        })
    }

    fn topic(&self) -> &str {
        &self.cluster.address.topic
    }

    /// Leaves the group.
    pub fn leave(self) {
        let closed = async {
            let _ = self.producer.close().await;
            let _ = self.from_results.close().await;
            let _ = self.consumer.close().await;
        };
        self.cluster.runtime.block_on(closed);
    }
}

impl Group for Member {
    fn poll(&mut self, wait: Duration) -> Result<Vec<(Place, Message)>, KafkaError> {
        let records = self.cluster.runtime.block_on(self.consumer.poll(wait));
        let records = polled(records, self.topic())?;
        Ok(records.into_iter().map(message).collect())
    }

    fn assignment(&mut self) -> Option<(String, Vec<i32>)> {
        let known = async {
            let group = self.consumer.group_metadata().await?;
            let mut all = self.consumer.assignment().await;
            Some((
                group.member_id().to_owned(),
                all.remove(self.topic()).unwrap_or_default(),
            ))
        };
        self.cluster.runtime.block_on(known)
    }

    fn unclaimed(&mut self, partitions: &[i32]) -> Result<BTreeMap<i32, Range<i64>>, KafkaError> {
        if partitions.is_empty() {
            return Ok(BTreeMap::new());
        }
        let topic = self.topic();
        let asked: Vec<(&str, i32)> = partitions.iter().map(|p| (topic, *p)).collect();
        let claimed = self
            .cluster
            .runtime
            .block_on(self.consumer.committed(&asked))
            .map_err(|e| failed(format!("the offsets of {} cannot be read", self.group), &e))?;
        let firsts = self.cluster.offsets(topic, partitions, false)?;
        let ends = self.cluster.offsets(topic, partitions, true)?;
        let ranges = ends.into_iter().map(|(partition, end)| {
            let first = firsts.get(&partition).copied().unwrap_or(0);
            let claimed = claimed.get(&(topic.to_owned(), partition));
            let from = claimed.map_or(first, |one| one.offset).clamp(first, end);
            (partition, from..end)
        });
        Ok(ranges.collect())
    }

    fn seek(&mut self, partition: i32, offset: i64) -> Result<(), KafkaError> {
        let sought = self.consumer.seek(self.topic(), partition, offset);
        let sought = self.cluster.runtime.block_on(sought);
        // Taken away meanwhile: the next look at the assignment shows it.
        sought.or_else(|e| match e {
            krafka::KrafkaError::IllegalState { .. } => Ok(()),
            e => Err(failed(
                format!("the topic {} cannot be read", self.topic()),
                &e,
            )),
        })
    }

    fn position(&mut self, partition: i32) -> Option<i64> {
        let position = self.consumer.position(self.topic(), partition);
        self.cluster.runtime.block_on(position)
    }

    fn members(&mut self) -> Result<Option<BTreeMap<String, Vec<i32>>>, KafkaError> {
        let Some(group) = self.cluster.described(&self.group)? else {
            return Ok(None);
        };
        if !group.state.eq_ignore_ascii_case("stable") {
            return Ok(None);
        }
        let topic = self.topic();
        let members = group.members.into_iter().map(|member| {
            let own = member.assignment.unwrap_or_default();
            let own = own.into_iter().filter(|one| one.topic_name == topic);
            let partitions = own.flat_map(|one| one.partitions).collect();
            (member.member_id, partitions)
        });
        Ok(Some(members.collect()))
    }

    fn say(&mut self, entry: &Entry) -> Result<(), KafkaError> {
        let results = self.cluster.address.results();
        let what = || format!("the topic {results} cannot be written");
        let value = serde_json::to_vec(entry).map_err(|e| KafkaError::Failed {
            what: what(),
            why: e.to_string(),
        })?;
        let record = Record::new(results.clone(), value).key(self.group.clone().into_bytes());
        let sent = self.producer.send(record);
        let sent = self.cluster.runtime.block_on(sent);
        sent.map(|_| ()).map_err(|e| failed(what(), &e))
    }

    fn heard(&mut self) -> Result<Vec<Entry>, KafkaError> {
        let records = self.from_results.poll(Duration::from_millis(20));
        let records = self.cluster.runtime.block_on(records);
        let records = polled(records, &self.cluster.address.results())?;
        // Documents of other groups are large, and are not decoded.
        let group = self.group.as_bytes();
        let own = records.into_iter();
        let own = own.filter(|record| record.key.as_deref() == Some(group));
        let values = own.filter_map(|record| record.value);
        // What another program wrote there is none of ours.
        Ok(values
            .filter_map(|value| serde_json::from_slice(&value).ok())
            .collect())
    }

    fn claim(&mut self, next: &[(i32, i64)]) -> Result<(), KafkaError> {
        let topic = self.topic();
        let offsets: Vec<(TopicPartition, OffsetAndMetadata)> = next
            .iter()
            .map(|(partition, offset)| {
                (
                    TopicPartition::new(topic, *partition),
                    OffsetAndMetadata::new(*offset),
                )
            })
            .collect();
        let committed = self.consumer.commit_offsets(offsets);
        let committed = self.cluster.runtime.block_on(committed);
        committed.map_err(|e| match code(&e) {
            Some(
                ErrorCode::IllegalGeneration
                | ErrorCode::UnknownMemberId
                | ErrorCode::RebalanceInProgress
                | ErrorCode::FencedInstanceId
                | ErrorCode::FencedMemberEpoch
                | ErrorCode::StaleMemberEpoch,
            ) => KafkaError::Fenced { why: e.to_string() },
            _ => failed(
                format!("the group {} does not take its offsets", self.group),
                &e,
            ),
        })
    }

    fn now_ns(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
    }
}
