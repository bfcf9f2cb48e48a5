//! After a 101: bytes both ways until both ends have said theirs.

use super::side::Side;

/// Relays what each end sends to the other; an end that has no more to say may still listen.
pub(super) async fn relay(mut client: Side, mut primary: Side) {
    // However it ends, both connections end with it.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut primary).await;
}
