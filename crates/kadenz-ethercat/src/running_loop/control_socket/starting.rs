//! The answers of a control socket before there is a loop: while devices are found and configured, which may take long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::pending::{ClientMessage, Next, Pending};
use super::question::{Answer, Question, Reply};
use super::server::{ControlServer, pause};
use crate::motion::{StageName, Status};

impl ControlServer {
    /// Answers clients until `done` is set, while a segment is brought up: with the loop's identity, and with the stage
    /// [bringing up](StageName::BringingUp). It passes a stop to `end` with the name of the asking client. `end` is to
    /// end the bring-up, and must not wait. All other questions are refused, with the reason. Clients that are
    /// connected at the end are to connect again. Waits.
    pub fn serve_bring_up(&self, end: &dyn Fn(&str), done: &AtomicBool) {
        let mut pending = Pending::new(self.limits);
        let mut begun = BringUp {
            server: self,
            since: Instant::now(),
            is_ended: false,
            end,
        };
        loop {
            // Questions from before the end are heard: a stop must not get lost between bring-up and loop.
            let is_over = done.load(Ordering::Relaxed);
            let accepted = self.accept(&mut pending);
            pending.poll(
                |_| None,
                |received| Next::Answer(begun.answer(received)),
                |_, _| (),
            );
            if is_over {
                break;
            }
            pause(accepted, &pending);
        }
        pending.close_all("the segment was brought up");
    }
}

struct BringUp<'d> {
    server: &'d ControlServer,
    since: Instant,
    is_ended: bool,
    end: &'d dyn Fn(&str),
}

impl BringUp<'_> {
    fn answer(&mut self, received: &ClientMessage) -> Reply {
        match received {
            ClientMessage::Asked(Question::Hello {}) => Reply::Ok(self.server.hello(None)),
            ClientMessage::Asked(Question::Axes {}) => self.status(),
            ClientMessage::Asked(Question::Stop { by }) => {
                (self.end)(by.as_deref().unwrap_or("a client of the server"));
                self.is_ended = true;
                self.status()
            }
            ClientMessage::Nonsense(why) => Reply::Error(why.clone()),
            ClientMessage::Asked(_) | ClientMessage::Long => Reply::Error(format!(
                "{0} is bringing up its segment, and runs no cycle yet; retry when it does, or end it by `kadenz \
                 ethercat stop --loop {0}`",
                self.server.name()
            )),
        }
    }

    fn status(&self) -> Reply {
        Reply::Ok(Answer::Axes(Box::new(Status {
            cycle: 0,
            stage: match self.is_ended {
                true => StageName::Ending,
                false => StageName::BringingUp,
            },
            seconds: self.since.elapsed().as_secs_f64(),
            stops: 0,
            stopped: None,
            axes: Vec::new(),
        })))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;

    use super::super::{ClientError, ControlClient};
    use super::*;

    #[test]
    fn a_bring_up_says_that_it_is_one_and_is_ended_by_a_stop() {
        let folder = tempfile::tempdir().unwrap();
        let server = ControlServer::open_in(folder.path(), "robot").unwrap();
        let (done, ended) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                server.serve_bring_up(&|by| ended.lock().unwrap().push(by.to_owned()), &done);
            });
            let mut client = ControlClient::at(server.path()).unwrap();
            assert!(matches!(
                client.request(&Question::Hello {}),
                Ok(Answer::Hello { name, .. }) if name == "robot"
            ));
            let mut stage = |question| match client.request(&question).unwrap() {
                Answer::Axes(status) => status.stage,
                other => panic!("{other:?}"),
            };
            assert_eq!(stage(Question::Axes {}), StageName::BringingUp);
            let by = Some("a test".to_owned());
            assert_eq!(stage(Question::Stop { by }), StageName::Ending);
            assert_eq!(stage(Question::Axes {}), StageName::Ending);
            let refused = client.request(&Question::Devices {}).unwrap_err();
            assert!(
                matches!(&refused, ClientError::Refused(why) if why.contains("is bringing up"))
            );
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(*ended.lock().unwrap(), ["a test"]);
    }

    #[test]
    fn a_stop_that_lies_in_a_socket_when_bring_up_ends_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let server = ControlServer::open_in(folder.path(), "robot").unwrap();
        let mut client = UnixStream::connect(server.path()).unwrap();
        client.write_all(b"{\"ask\":\"stop\"}\n").unwrap();
        let ended = AtomicBool::new(false);
        let end = |_: &str| ended.store(true, Ordering::Relaxed);
        server.serve_bring_up(&end, &AtomicBool::new(true));
        assert!(ended.load(Ordering::Relaxed));
    }
}
