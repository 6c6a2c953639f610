//! Services of ROS 1: [`ServiceClient`] calls one, [`ServiceServer`] offers one.
//!
//! Requests and answers are bytes as ROS serialises them. A client keeps its connection from call to call,
//! and sends nothing twice: whether an interrupted call was done is unknown.
//!
//! ```no_run
//! use std::time::Duration;
//! use kadenz_msg::provider::parameters::Address;
//! use kadenz_msg::provider::ros1::{Ros1, ServiceType};
//!
//! let ros = Ros1::open(&Address::parse("ros1://localhost:11311")?)?;
//! let empty = ServiceType::new("std_srvs/Empty", "d41d8cd98f00b204e9800998ecf8427e");
//! let _server = ros.offer_service("/reset", &empty, 1, |_request| Ok(Vec::new()))?;
//! let answer = ros.service_client("/reset", "*").call(&[], Duration::from_secs(1))?;
//! assert!(answer.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod connection;
pub(in crate::provider) mod protocol;
mod server;

use std::io;

pub use client::ServiceClient;
pub use server::ServiceServer;

use super::{Ros1, no_master};
use crate::arrival::random_number;
use crate::provider::ProviderError;

/// The types of a service's request and answer, by ROS's name, with the sum that `rossrv md5` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceType {
    /// Such as `std_srvs/SetBool`.
    pub name: String,
    /// In hexadecimal digits; `*` fits every other one.
    pub md5: String,
}

impl ServiceType {
    /// Returns the type of that name and sum.
    #[must_use]
    pub fn new(name: &str, md5: &str) -> Self {
        Self {
            name: name.to_owned(),
            md5: md5.to_owned(),
        }
    }
}

/// The reason for which a service gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The master did not answer.
    #[error(
        "the ROS master at {master} does not answer: {reason}; start roscore there, or name its host and port in the URL"
    )]
    NoMaster {
        /// The master's address.
        master: String,
        /// The system's error.
        reason: io::Error,
    },
    /// The master knows no such service.
    #[error("no node offers {service}; rosservice list lists the offered services")]
    NotOffered {
        /// The name of the service.
        service: String,
    },
    /// The server did not accept the client, as where the types differ.
    #[error(
        "{service} refused the call: {reason}; compare the type's md5 with that printed by rossrv md5"
    )]
    Refused {
        /// The name of the service.
        service: String,
        /// In the server's words.
        reason: String,
    },
    /// The service was called and has failed.
    #[error("{service} failed: {reason}")]
    Failed {
        /// The name of the service.
        service: String,
        /// In the server's words.
        reason: String,
    },
    /// A request or an answer is longer than allowed.
    #[error("{service}: {length} bytes are more than {longest}; raise largest in the URL")]
    TooLong {
        /// The name of the service.
        service: String,
        /// How long it is, in bytes.
        length: usize,
        /// The longest that is allowed, in bytes.
        longest: usize,
    },
    /// There was no answer in time; whether the work was done is unknown.
    #[error("{service} gave no answer in time; give it more, or look what its node does")]
    TimedOut {
        /// The name of the service.
        service: String,
    },
    /// The connection failed; after it was made, it is unknown whether the work was done.
    #[error("the connection with {service} failed: {reason}; see whether its node still lives")]
    Lost {
        /// The name of the service.
        service: String,
        /// The system's error.
        reason: io::Error,
    },
}

impl Ros1 {
    /// Returns a client of a service whose type has that md5sum; `*` takes any. It sends nothing before the
    /// first call.
    #[must_use]
    pub fn service_client(&self, service: &str, md5: &str) -> ServiceClient {
        let caller = format!("/kadenz_{}_{:x}", std::process::id(), random_number());
        let service = absolute(service);
        ServiceClient::new(&self.master, caller, service, md5, self.largest)
    }

    /// Offers a service until the server is dropped. That many threads, 1 to 64, call `handler` with
    /// requests; a request waits while all are busy. The error text of `handler` goes to the client. A second
    /// server of a name replaces the first one.
    ///
    /// # Errors
    /// If the master does not answer, or the system has no port or thread left.
    pub fn offer_service(
        &self,
        service: &str,
        kind: &ServiceType,
        threads: usize,
        handler: impl Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Result<ServiceServer, ProviderError> {
        let failed = |error: io::Error| no_master(&self.address, &error);
        let node = self.node().map_err(failed)?;
        let offer = protocol::Offer {
            service: absolute(service),
            kind: kind.clone(),
            caller: node.caller(),
            longest: self.largest,
        };
        ServiceServer::start(node, offer, threads, Box::new(handler)).map_err(failed)
    }
}

/// Returns a name in the master's form.
fn absolute(service: &str) -> String {
    format!("/{}", service.trim_start_matches('/'))
}
