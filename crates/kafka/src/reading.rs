//! Messages of a topic, outside of a group.

use crate::client::{failed, message};
use crate::{Cluster, KafkaError, Message, Place};
use krafka::consumer::Consumer;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Without a message for so long, a topic that is read to its end gives no more.
const SILENCE: Duration = Duration::from_secs(30);

/// A topic that is read on and on.
pub struct Reading {
    pub(crate) cluster: Cluster,
    pub(crate) topic: String,
    pub(crate) consumer: Consumer,
    /// The offset that each partition is read from next.
    pub(crate) next: BTreeMap<i32, i64>,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reading").field(&self.topic).finish()
    }
}

impl Reading {
    /// Messages that were not read yet, up to the ends that the topic has now; partition by partition in their order, partitions mixed.
    ///
    /// # Errors
    /// The brokers went silent, or refused.
    pub fn read(&mut self, mut take: impl FnMut(Place, Message)) -> Result<(), KafkaError> {
        let Self {
            cluster,
            topic,
            consumer,
            next,
        } = self;
        let runtime = &cluster.runtime;
        let what = || format!("the topic {topic} cannot be read");
        let all: Vec<i32> = next.keys().copied().collect();
        let mut open = cluster.offsets(topic, &all, true)?;
        open.retain(|partition, end| next.get(partition).is_some_and(|at| at < end));
        let mut heard = Instant::now();
        while !open.is_empty() {
            let records = runtime
                .block_on(consumer.poll(Duration::from_millis(500)))
                .map_err(|e| failed(what(), &e))?;
            if !records.is_empty() {
                heard = Instant::now();
            } else if heard.elapsed() >= SILENCE {
                return Err(KafkaError::Late {
                    what: what(),
                    limit: SILENCE,
                });
            }
            // Those past the ends are taken as well: they do not come again.
            for record in records {
                let (place, message) = message(record);
                next.insert(place.partition, place.offset + 1);
                take(place, message);
            }
            // The position is past a last offset that holds no message, such as the end of a transaction.
            open.retain(|partition, end| {
                let position = runtime.block_on(consumer.position(topic, *partition));
                let known = next.get(partition).copied();
                let at = position.max(known).unwrap_or(0);
                next.insert(*partition, at);
                at < *end
            });
        }
        Ok(())
    }

    /// Ends it.
    pub fn close(self) {
        let _ = self.cluster.runtime.block_on(self.consumer.close());
    }
}
