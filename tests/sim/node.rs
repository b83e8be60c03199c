//! One node of a simulation: the real service, on the simulated network. It can be stopped, killed and started again.

use std::sync::Arc;

use lon_sut::backend::Backend;
use lon_sut::{ServeConfig, Sockets, serve};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::backend::SimBackend;
use crate::network::Net;
use crate::pipe::{FAR, Link};

/// Number of connections that can wait to be accepted.
const BACKLOG: usize = 32;

/// A node, and the process that it runs as, if it runs.
pub(crate) struct Node {
    pub(crate) address: String,
    pub(crate) link: Arc<Link>,
    net: Net,
    config: ServeConfig,
    backend: Arc<SimBackend>,
    process: Option<Process>,
}

struct Process {
    serving: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Node {
    pub(crate) fn new(address: String, link: Arc<Link>, net: Net, config: ServeConfig, backend: SimBackend) -> Node {
        Node { address, link, net, config, backend: Arc::new(backend), process: None }
    }

    /// Starts it, unless it runs.
    pub(crate) fn start(&mut self) {
        if self.process.as_ref().is_some_and(|process| !process.serving.is_finished()) {
            return;
        }
        let (door, connections) = mpsc::channel(BACKLOG);
        self.net.listen(&self.address, Some(door));
        let sockets = Sockets::brought(connections, ([10, 0, 0, 2], 9000).into());
        let (stop, stopped) = oneshot::channel::<()>();
        let (config, backend) = (self.config.clone(), Arc::clone(&self.backend) as Arc<dyn Backend>);
        let serving = tokio::spawn(async move {
            let until = async {
                let _ = stopped.await;
            };
            serve(sockets, config, backend, until, || {}).await.unwrap();
        });
        self.process = Some(Process { serving, stop: Some(stop) });
    }

    /// Tells it to stop, as SIGTERM does.
    pub(crate) fn stop(&mut self) {
        self.net.listen(&self.address, None);
        self.process.iter_mut().for_each(|process| drop(process.stop.take()));
    }

    /// Ends it at once. Its system closes the connections; with `is_silent` the system is gone as well.
    pub(crate) fn kill(&mut self, is_silent: bool) {
        self.net.listen(&self.address, None);
        if let Some(process) = self.process.take() {
            process.serving.abort();
            // The receiver of the stop is gone with the process: the node's tasks end with their connections.
            drop(process.stop);
        }
        if is_silent {
            self.link.break_end(FAR);
        } else {
            self.link.reset_all();
        }
    }
}
