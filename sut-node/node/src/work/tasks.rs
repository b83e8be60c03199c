//! Workers that only pretend to work: tasks instead of threads, so that a whole node runs on one thread.

use std::sync::Arc;

use lon_net::clock;

use super::batches::{answer_batch, infer_batch, note_waiting};
use super::coder::Coder;
use super::job::Job;
use super::queue::JobQueue;
use crate::backend::Worker;

/// Runs until the queue is closed and empty. A batch is answered when the time has passed that the worker says.
pub(crate) async fn work(mut worker: Box<dyn Worker>, queue: Arc<JobQueue>) {
    let (mut batch, mut samples) = (Vec::new(), Vec::new());
    let mut coder = Coder::default();
    let mut free_since = clock::now();
    while let Some(turn) = queue.next_batch_of_task(&mut batch).await {
        let taken = clock::now();
        let free_from = free_since + turn.waited;
        batch.extract_if(.., |job| job.answer_queue.is_over()).for_each(Job::give_up);
        if !batch.is_empty() {
            batch.iter_mut().for_each(|job| note_waiting(job, taken, free_from));
            let results = infer_batch(worker.as_mut(), &mut batch, &mut samples);
            tokio::time::sleep(worker.pretended()).await;
            answer_batch(worker.as_ref(), &mut coder, &mut batch, results, taken);
        }
        drop(turn);
        free_since = clock::now();
    }
}
