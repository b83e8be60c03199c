//! Several tenants of one claim: each is a run with a model, streams, limits and counters of its own.
//!
//! A stream belongs to one tenant, whose secret opens it. So no sample carries a mark of its tenant, and the backlog of
//! one is not in the way of the samples of another.

use std::sync::Arc;

use crate::config::RunConfig;
use crate::control::{Claim, Claimed, NodeDescription, Purpose, Tenant};
use crate::error::ConnectError;
use crate::qdl::{Qdl, codecs_of, new_run_id};
use crate::run::Run;
use crate::types::{NodeIndex, Sink};

/// One tenant that is about to start.
pub struct TenantStart<'a> {
    /// Its nodes, with its model; from [`Qdl::of_tenant`].
    pub qdl: &'a Qdl,
    /// Configuration of its run.
    pub config: RunConfig,
    /// Takes its replies.
    pub sink: Arc<dyn Sink>,
}

impl Qdl {
    /// These nodes, each with its model of this name instead of its first one. Without a name: the first model of the
    /// first node. `None` for nodes: all of them.
    ///
    /// # Errors
    /// A node has no such model, or knows no tenants.
    pub fn of_tenant(&self, model: Option<&str>, nodes: Option<&[NodeIndex]>) -> Result<Qdl, ConnectError> {
        let first = || self.nodes().first()?.models.first().map(|model| model.name.as_str());
        let model = model.or_else(first).unwrap_or_default();
        let is_wanted = |place: usize| nodes.is_none_or(|nodes| nodes.contains(&NodeIndex(place)));
        let mut view = self.none(Some(model.to_owned()));
        for (place, node) in self.nodes().iter().enumerate().filter(|(place, _)| is_wanted(*place)) {
            view.add(self, place, node.of_model(model)?);
        }
        if view.nodes().is_empty() { Err(ConnectError::NoNodes) } else { Ok(view) }
    }

    /// Claims every node once, for all tenants together, and opens their streams; the run of each, in their order.
    /// `self` has the nodes of all tenants.
    ///
    /// # Errors
    /// The first node that lacks a codec, is busy or cannot be used; the claims on the others end.
    pub fn start_together(&self, tenants: Vec<TenantStart<'_>>) -> Result<Vec<Run>, ConnectError> {
        for tenant in &tenants {
            tenant.qdl.check_codecs(&tenant.config)?;
        }
        let has = |tenant: &TenantStart<'_>, node: &NodeDescription| tenant.qdl.place_of(node).is_some();
        let mut nodes = self.none(None);
        for (place, node) in self.nodes().iter().enumerate() {
            if tenants.iter().any(|tenant| has(tenant, node)) {
                nodes.add(self, place, node.clone());
            }
        }
        let run_id = new_run_id()?;
        let targets = nodes.claim_targets(|place| {
            let of_node = tenants.iter().filter(|tenant| has(tenant, &nodes.nodes()[place]));
            let purpose = Purpose::Tenants(of_node.map(TenantStart::terms).collect());
            Claim { run_id: run_id.clone(), client: self.config.client.clone(), purpose }
        });
        let terms = nodes.claim(&run_id, targets)?;
        let terms = of_tenants(&nodes, &tenants, terms);
        open_all(tenants, terms)
    }

    /// Place of a node in this list of nodes.
    fn place_of(&self, node: &NodeDescription) -> Option<usize> {
        self.nodes().iter().position(|own| own.address == node.address)
    }
}

impl TenantStart<'_> {
    /// The tenant, as a node is asked for it.
    fn terms(&self) -> Tenant {
        Tenant { model: self.qdl.model.clone().unwrap_or_default(), codecs: codecs_of(&self.config) }
    }
}

/// The terms of the nodes for each tenant, in the order of its own nodes.
fn of_tenants(nodes: &Qdl, tenants: &[TenantStart<'_>], terms: Vec<Vec<Claimed>>) -> Vec<Vec<Claimed>> {
    let mut terms: Vec<_> = terms.into_iter().map(Vec::into_iter).collect();
    let of_tenant = |tenant: &TenantStart<'_>| {
        let places = tenant.qdl.nodes().iter().filter_map(|node| nodes.place_of(node));
        places.filter_map(|place| terms.get_mut(place)?.next()).collect()
    };
    tenants.iter().map(of_tenant).collect()
}

/// Opens the streams of one tenant after the other. When one fails, all of them end.
fn open_all(tenants: Vec<TenantStart<'_>>, terms: Vec<Vec<Claimed>>) -> Result<Vec<Run>, ConnectError> {
    let count = tenants.len();
    let mut runs = Vec::with_capacity(count);
    let mut starts = tenants.into_iter().zip(terms);
    while let Some((TenantStart { qdl, config, sink, .. }, claimed)) = starts.next() {
        match qdl.open(&config, sink, &claimed, false, count) {
            Ok(run) => runs.push(run),
            Err(error) => {
                runs.into_iter().for_each(|run: Run| drop(run.end()));
                starts.for_each(|(tenant, claimed)| tenant.qdl.let_go(&claimed));
                return Err(error);
            }
        }
    }
    Ok(runs)
}
