//! Sends messages, and never makes the caller wait: what finds no room is counted.

use crate::client::{MOST_MESSAGE, failed};
use crate::{Cluster, KafkaError, Message, Sent};
use krafka::producer::Producer;
use krafka::{KrafkaError, Record};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};

/// A message that is not acknowledged by then has failed.
const DELIVERY: Duration = Duration::from_secs(60);
/// Bytes that wait for the brokers in the client, in addition to those that wait for the client.
const IN_CLIENT: usize = MOST_MESSAGE;

#[derive(Debug, Default)]
struct Counted {
    waiting: AtomicU64,
    taken: AtomicU64,
    written: AtomicU64,
    bytes: AtomicU64,
    no_room: AtomicU64,
    failed: AtomicU64,
    /// The first error's words.
    why: OnceLock<String>,
}

impl Counted {
    fn failed(&self, error: &KrafkaError) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.why.get_or_init(|| error.to_string());
    }

    /// `ended`: a message without an acknowledgement gets none any more.
    fn sent(&self, ended: bool) -> Sent {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let written = of(&self.written);
        Sent {
            written,
            bytes: of(&self.bytes),
            no_room: of(&self.no_room),
            failed: match ended {
                true => of(&self.taken) - written,
                false => of(&self.failed),
            },
            why: self.why.get().cloned(),
        }
    }
}

/// Hands messages to the brokers in their order.
#[derive(Debug)]
pub struct Writer {
    cluster: Cluster,
    counted: Arc<Counted>,
    most_waiting: u64,
    to: Option<UnboundedSender<Message>>,
    task: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(cluster: Cluster, most_waiting: u64) -> Result<Self, KafkaError> {
        let topic = cluster.address.topic.clone();
        let producer = cluster
            .kafka
            .producer()
            .linger(Duration::from_millis(20))
            .batch_size(256 << 10)
            .compression(krafka::Compression::Lz4)
            .buffer_memory(IN_CLIENT)
            .max_block(DELIVERY)
            .delivery_timeout(DELIVERY)
            .metrics_push(false)
            .build();
        let producer = cluster
            .runtime
            .block_on(producer)
            .map_err(|e| failed(format!("the topic {topic} cannot be written"), &e))?;
        let (to, from) = unbounded_channel();
        let counted = Arc::new(Counted::default());
        let task = cluster
            .runtime
            .spawn(sending(producer, topic, from, counted.clone()));
        Ok(Self {
            cluster,
            counted,
            most_waiting,
            to: Some(to),
            task: Some(task),
        })
    }

    /// Takes a message, or counts that there is no room for it.
    pub fn send(&self, message: Message) {
        let weight = message.weight();
        let waiting = &self.counted.waiting;
        let sent = match &self.to {
            Some(to) if waiting.load(Ordering::Relaxed) + weight <= self.most_waiting => {
                waiting.fetch_add(weight, Ordering::Relaxed);
                self.counted.taken.fetch_add(1, Ordering::Relaxed);
                // Where the task is gone, it counts as failed at the end.
                let _ = to.send(message);
                true
            }
            _ => false,
        };
        if !sent {
            self.counted.no_room.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until there is room, for a caller that has time.
    pub fn send_when_there_is_room(&self, message: Message) {
        while self.counted.waiting.load(Ordering::Relaxed) > 0
            && self.counted.waiting.load(Ordering::Relaxed) + message.weight() > self.most_waiting
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.send(message);
    }

    /// What became of the messages so far; after the end, of all.
    #[must_use]
    pub fn sent(&self) -> Sent {
        self.counted.sent(self.task.is_none())
    }

    /// Waits for the last acknowledgements, until none has come for so long.
    pub fn finish(&mut self, patience: Duration) {
        self.to = None;
        let Some(mut task) = self.task.take() else {
            return;
        };
        let written = || self.counted.written.load(Ordering::Relaxed);
        let ended = async {
            let mut before = written();
            while tokio::time::timeout(patience, &mut task).await.is_err() {
                let now = written();
                if now == before {
                    task.abort();
                    let _ = task.await;
                    return;
                }
                before = now;
            }
        };
        self.cluster.runtime.block_on(ended);
    }
}

async fn sending(
    producer: Producer,
    topic: String,
    mut from: UnboundedReceiver<Message>,
    counted: Arc<Counted>,
) {
    let mut deliveries = JoinSet::new();
    while let Some(message) = from.recv().await {
        let weight = message.weight();
        let mut record = Record::new(topic.clone(), message.value)
            .key(message.key)
            .timestamp(message.at_ms);
        for (name, value) in message.headers {
            record = record.header(name, value);
        }
        let queued = producer.enqueue(record).await;
        counted.waiting.fetch_sub(weight, Ordering::Relaxed);
        match queued {
            Ok(delivery) => {
                let counted = counted.clone();
                deliveries.spawn(async move {
                    match delivery.await {
                        Ok(_) => {
                            counted.written.fetch_add(1, Ordering::Relaxed);
                            counted.bytes.fetch_add(weight, Ordering::Relaxed);
                        }
                        Err(error) => counted.failed(&error),
                    }
                });
            }
            Err(error) => counted.failed(&error),
        }
        while deliveries.try_join_next().is_some() {}
    }
    let _ = producer.close().await;
    // The close waits for the brokers, and this for the counts.
    while deliveries.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_and_not_acknowledged_has_failed_at_the_end() {
        let counted = Counted::default();
        counted.taken.store(9, Ordering::Relaxed);
        counted.written.store(4, Ordering::Relaxed);
        counted.failed(&KrafkaError::timeout("the first"));
        counted.failed(&KrafkaError::timeout("the second"));
        let (before, after) = (counted.sent(false), counted.sent(true));
        assert_eq!((before.failed, after.failed), (2, 5));
        assert!(after.why.unwrap().contains("the first"));
    }
}
