//! The SUT's name as the Network division wants it: a pure function of the nodes' answers.

use lon_proto::text::printable;

use super::peer::NameTrip;
use lon_proto::node_name::NETWORK_SUT;

/// The name of the SUT behind the network, and the round trips it took.
#[derive(Clone, Debug)]
pub struct SutName {
    /// `Network SUT: a, b`; without that substring when a node could not be asked.
    pub text: String,
    /// One per node, in the nodes' order.
    pub trips: Vec<NameTrip>,
    /// Why the name is in doubt, in a sentence; `None` when it is not.
    pub doubt: Option<String>,
}

impl SutName {
    /// Joins what the nodes answered just now. `expected` are the names that they gave at first.
    pub(crate) fn from_trips(trips: Vec<NameTrip>, expected: &[String]) -> SutName {
        if trips.len() != expected.len() {
            return SutName::in_doubt("the nodes could not be asked", None, trips);
        }
        let mut names = Vec::with_capacity(trips.len());
        for (trip, expected) in trips.iter().zip(expected) {
            match &trip.name {
                Ok(name) if name == expected => names.push(name.as_str()),
                Ok(name) => {
                    return SutName::in_doubt(&format!("node {expected} now calls itself {name}"), None, trips);
                }
                Err(reason) => {
                    let why = Some(reason.clone());
                    return SutName::in_doubt(&format!("node {expected} did not say its name again"), why, trips);
                }
            }
        }
        SutName { text: format!("{NETWORK_SUT}: {}", names.join(", ")), trips, doubt: None }
    }

    /// A name without the substring, also when a node has it in what it says. `why` is no part of the name, which
    /// stands in rows of tables.
    fn in_doubt(what: &str, why: Option<String>, trips: Vec<NameTrip>) -> SutName {
        let own = |text: &str| printable(text).replace(NETWORK_SUT, "Network-SUT");
        let text = format!("SUT in doubt: {}", own(what));
        let doubt = why.map_or_else(|| text.clone(), |why| format!("{text}: {}", own(&why)));
        SutName { text, trips, doubt: Some(doubt) }
    }

    /// Every node answered with its name and its nonce.
    pub fn is_complete(&self) -> bool {
        self.doubt.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn trip(name: Result<&str, &str>) -> NameTrip {
        let name = name.map(str::to_owned).map_err(str::to_owned);
        NameTrip { name, rtt: Duration::from_micros(80) }
    }

    #[test]
    fn the_name_lists_every_node_in_order() {
        let expected = ["b".to_owned(), "a".to_owned()];
        let name = SutName::from_trips(vec![trip(Ok("b")), trip(Ok("a"))], &expected);
        assert_eq!(name.text, "Network SUT: b, a");
        assert!(name.is_complete());
    }

    #[test]
    fn a_node_that_fails_or_changes_takes_the_substring_away() {
        let expected = ["a".to_owned(), "b".to_owned()];
        for trips in [
            vec![trip(Ok("a")), trip(Err("gone"))],
            vec![trip(Ok("a")), trip(Ok("c"))],
            vec![trip(Ok("a")), trip(Ok("Network SUT: b"))],
            vec![trip(Ok("a")), trip(Err("Network SUT is away"))],
        ] {
            let name = SutName::from_trips(trips, &expected);
            assert!(!name.text.contains(NETWORK_SUT) && !name.is_complete(), "{}", name.text);
            assert!(name.text.contains("node b"), "{}", name.text);
            assert!(name.doubt.as_ref().is_some_and(|doubt| doubt.starts_with(&name.text)), "{:?}", name.doubt);
        }
    }
}
