//! A node that tries to put something of its own into what people read. What else nodes may do wrong is in the matrix.

use lon_tests::peer::{Behaviour, Peer};
use lon_tests::test_run::TestRun;

#[test]
fn a_name_with_control_characters_reaches_no_screen() {
    let later_name = Some("Network SUT: fake\n\u{1b}[31m".to_owned());
    let peer = Peer::start(Behaviour { later_name, ..Behaviour::good("first") });
    let test = TestRun::new("Server").on(&peer.address.to_string());
    let (finished, folder) = test.set("min_duration=0,min_query_count=100,target_qps=2000").finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["counts"]["completed"], 100, "{result}");
    assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{result}");
    assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
}
