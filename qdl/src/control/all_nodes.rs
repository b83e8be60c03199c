//! One call to each of many nodes: not too many at one time, and an error that speaks of all of them.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::carry::Gate;
use crate::error::ConnectError;

/// Time for the other calls to fail as well, once one has failed. A fault of one node is often a fault of many, and one
/// error is to report all of them.
const AFTERMATH: Duration = Duration::from_millis(300);

/// The outcomes of all calls, in their order.
pub(crate) async fn all<F: Future>(calls: impl Iterator<Item = F>) -> Vec<F::Output> {
    let gate = Gate::new();
    join_all(calls.map(|call| gate.pass(call))).await
}

/// The values of all calls, in their order.
///
/// # Errors
/// The first node of those that fail within a moment, and how many others do. Calls that are under way then are given
/// up.
pub(crate) async fn try_all<T, F>(calls: impl Iterator<Item = F>) -> Result<Vec<T>, ConnectError>
where
    F: Future<Output = Result<T, ConnectError>>,
{
    let gate = Gate::new();
    let numbered = |(number, call)| {
        let passed = gate.pass(call);
        async move { (number, passed.await) }
    };
    let mut under_way: FuturesUnordered<_> = calls.enumerate().map(numbered).collect();
    let count = under_way.len();
    let mut values = Vec::with_capacity(count);
    while let Some((number, outcome)) = under_way.next().await {
        match outcome {
            Ok(value) => values.push((number, value)),
            Err(error) => {
                let (mut first, mut more) = ((number, error), 0);
                let others = async {
                    while let Some((number, outcome)) = under_way.next().await {
                        let Err(error) = outcome else { continue };
                        more += 1;
                        if number < first.0 {
                            first = (number, error);
                        }
                    }
                };
                let _ = tokio::time::timeout(AFTERMATH, others).await;
                return Err(first.1.and_more(more, count));
            }
        }
    }
    values.sort_by_key(|(number, _)| *number);
    Ok(values.into_iter().map(|(_, value)| value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node that answers with its number after a while, or is not there.
    async fn call(number: usize, is_there: bool) -> Result<usize, ConnectError> {
        tokio::time::sleep(Duration::from_millis(90 - number as u64 % 90)).await;
        let address = format!("10.0.0.1:{}", 9_000 + number).parse().unwrap();
        let reason = "nobody listens".to_owned();
        if is_there { Ok(number) } else { Err(ConnectError::Unreachable { address, reason }) }
    }

    #[tokio::test(start_paused = true)]
    async fn values_are_in_the_order_of_the_nodes() {
        let values = try_all((0..200).map(|number| call(number, true))).await.unwrap();
        assert_eq!(values, (0..200).collect::<Vec<_>>());
        let outcomes = all((0..200).map(|number| call(number, number != 7))).await;
        assert_eq!(outcomes.iter().position(Result::is_err), Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_names_the_first_node_and_counts_the_others() {
        let message = try_all((0..200).map(|number| call(number, number % 2 == 0))).await.unwrap_err().to_string();
        assert!(message.starts_with("SUT node 10.0.0.1:9001 cannot be reached: nobody listens"), "{message}");
        assert!(message.ends_with("; 99 more of the 200 nodes failed, too"), "{message}");
        let one = try_all((0..200).map(|number| call(number, number != 7))).await.unwrap_err().to_string();
        assert_eq!(one, "SUT node 10.0.0.1:9007 cannot be reached: nobody listens");
    }
}
