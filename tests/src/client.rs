//! A caller of a SUT node that makes the calls of the wire contract one by one.

use std::time::Duration;

use bytes::Bytes;
use lon_proto::run_identity::RunPass;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{DispatchRequest, DispatchResponse, StartRunRequest};
use lon_proto::{WIRE_VERSION, limits};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

use crate::process::SutNode;

const PATIENCE: Duration = Duration::from_secs(300);

/// Runs a conversation; one that hangs fails.
pub fn talk(node: &SutNode, conversation: impl AsyncFnOnce(SutNodeClient<Channel>)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let channel = Endpoint::from_shared(format!("http://{}", node.address)).unwrap().connect().await.unwrap();
        tokio::time::timeout(PATIENCE, conversation(SutNodeClient::new(channel))).await.expect("a hang");
    });
}

/// Begins a run whose id is of this number.
pub async fn start(client: &mut SutNodeClient<Channel>, run: u8) -> Result<RunPass, tonic::Status> {
    let run_id = Bytes::from(vec![run; limits::RUN_ID_BYTES]);
    let request = StartRunRequest { run_id: run_id.clone(), wire_version: WIRE_VERSION, ..Default::default() };
    let claimed = client.start_run(request).await?.into_inner();
    Ok(RunPass::new(run_id, claimed.secret))
}

/// A Dispatch stream of one's own.
pub async fn open(
    client: &mut SutNodeClient<Channel>,
    pass: &RunPass,
) -> Result<(mpsc::Sender<DispatchRequest>, Streaming<DispatchResponse>), tonic::Status> {
    let (sender, receiver) = mpsc::channel(64);
    let open = Some(pass.open());
    sender.send(DispatchRequest { open, ..Default::default() }).await.unwrap();
    let answers = client.dispatch(ReceiverStream::new(receiver)).await?.into_inner();
    Ok((sender, answers))
}
