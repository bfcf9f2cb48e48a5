//! Sends messages, and never makes the caller wait: what finds no room is counted.

use crate::client::failed;
use crate::{Cluster, KafkaError, Message, Sent};
use krafka::Record;
use krafka::producer::Producer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// A message that is not acknowledged by then has failed.
const DELIVERY: Duration = Duration::from_secs(60);
/// Bytes that wait for the brokers in the client, in addition to those that wait for the client.
const IN_CLIENT: usize = 32 << 20;
/// How long the end waits for the last ones.
const END: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
struct Counted {
    waiting: AtomicU64,
    written: AtomicU64,
    bytes: AtomicU64,
    no_room: AtomicU64,
    failed: AtomicU64,
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
                to.send(message).is_ok()
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

    /// What became of the messages so far.
    #[must_use]
    pub fn sent(&self) -> Sent {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Sent {
            written: of(&self.counted.written),
            bytes: of(&self.counted.bytes),
            no_room: of(&self.counted.no_room),
            failed: of(&self.counted.failed),
        }
    }

    /// Waits for the last acknowledgements, for as long as brokers that are gone deserve.
    pub fn finish(&mut self) {
        self.to = None;
        if let Some(task) = self.task.take() {
            let ended = async { tokio::time::timeout(END, task).await };
            let _ = self.cluster.runtime.block_on(ended);
        }
    }
}

async fn sending(
    producer: Producer,
    topic: String,
    mut from: UnboundedReceiver<Message>,
    counted: Arc<Counted>,
) {
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
                tokio::spawn(async move {
                    match delivery.await {
                        Ok(_) => {
                            counted.written.fetch_add(1, Ordering::Relaxed);
                            counted.bytes.fetch_add(weight, Ordering::Relaxed);
                        }
                        Err(_) => {
                            counted.failed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            Err(_) => {
                counted.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    let _ = producer.close().await;
}
