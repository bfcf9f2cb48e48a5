//! Pairs of answers -> which shadow is better, by how much, and in what its
//! answers differ. Pure; the same code reads a log afterwards and follows a
//! mirror that runs. Sending, writing and showing are left to others.
