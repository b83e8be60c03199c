//! The checked-in code is what the .proto files generate today.
//!
//! `LON_BLESS=1 cargo test -p lon-proto --test generated` writes it anew.

use std::path::Path;

use protox::prost::Message as _;

/// Messages that have a secret in them: `v1.rs` says how they are shown.
const SECRET: [&str; 7] = [
    "lon.v1.StartRunResponse",
    "lon.v1.TenantTerms",
    "lon.v1.Open",
    "lon.v1.FlushRequest",
    "lon.v1.EndRunRequest",
    "lon.v1.GetProbeCountersRequest",
    "lon.v1.ProbePeerRequest",
];

#[test]
fn generated_code_is_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [("lon/v1/lon.proto", "lon.v1.rs", true), ("kserve/inference.proto", "inference.rs", false)];
    for (proto, name, has_server) in files {
        let out = tempfile::tempdir().unwrap();
        let descriptors = protox::compile([proto], [root]).unwrap();
        assert!(!descriptors.encode_to_vec().is_empty());
        let build = tonic_prost_build::configure().bytes(".").skip_debug(SECRET).out_dir(out.path());
        let build = build.build_server(has_server);
        build.compile_fds(descriptors).unwrap();
        let fresh = std::fs::read_to_string(out.path().join(name)).unwrap();
        let path = root.join("src/gen").join(name);
        if std::env::var_os("LON_BLESS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(fresh == checked_in, "src/gen/{name} is stale: LON_BLESS=1 cargo test -p lon-proto --test generated");
    }
}
