//! A running loop and its devices, through its control socket.

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::control::supervisor::DeviceStatus;
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::exchange::{ExchangeError, Registers};
use kadenz::ethercat::main_device::layout::Demand;
use kadenz::ethercat::main_device::survey::{self, SurveyedDevice};
use kadenz::ethercat::running_loop::control_socket::{
    self, ClientError, ControlClient, LoopExchange,
};
use kadenz::ethercat::wire::{AlStatus, AlStatusCode, Configured, Position};

use super::device::{Device, DeviceSelector};

pub(super) struct RunningLoop {
    pub(super) client: ControlClient,
    pub(super) name: String,
    pub(super) pid: u32,
}

/// Selects a running loop.
#[derive(Debug, Args)]
pub(super) struct LoopName {
    /// Name of the loop, as given to `run --name` [default: the only running one]
    #[arg(long = "loop", value_name = "NAME")]
    running: Option<String>,
}

impl LoopName {
    /// Connects to the loop.
    pub(super) fn open(&self) -> anyhow::Result<RunningLoop> {
        RunningLoop::open(self.running.as_deref())
    }
}

impl RunningLoop {
    /// Connects to the loop of that name, or without a name to the only running one.
    pub(super) fn open(name: Option<&str>) -> anyhow::Result<Self> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => only(&control_socket::running()?)?,
        };
        let mut client = connect(&name)?;
        let (name, pid) = client.hello()?;
        Ok(Self { client, name, pid })
    }

    /// Name of its segment, in answers that name an interface otherwise.
    pub(super) fn segment(&self) -> String {
        format!("loop:{}", self.name)
    }

    pub(super) fn devices(&mut self) -> anyhow::Result<Vec<Device>> {
        Ok(self.client.devices()?.iter().map(Device::from).collect())
    }

    /// The one selected device.
    pub(super) fn device(&mut self, which: &DeviceSelector) -> anyhow::Result<Device> {
        let mut all = self.devices()?;
        let place = which.one_among(all.iter().cloned())?;
        Ok(all.swap_remove(place))
    }

    /// A device with its SII from the loop's begin.
    pub(super) fn sub_device(&mut self, status: &DeviceStatus) -> anyhow::Result<SubDevice> {
        let device = Device::from(status);
        let sii = self.client.sii(status.device);
        let sii = sii.with_context(|| device.label())?;
        Ok(SubDevice {
            alias: device.alias,
            ..SubDevice::of_memory(Position(device.position), device.station, sii)
        })
    }

    /// All devices with their states. For a device that does not answer: the data that the loop had when it began,
    /// and AL status 0.
    pub(super) fn survey(&mut self) -> anyhow::Result<Vec<SurveyedDevice>> {
        let mut all = Vec::new();
        for status in self.client.devices()? {
            let device = self.sub_device(&status)?;
            let met = status.position.map(|_| {
                let station = Configured(status.station);
                let mut exchange = LoopExchange::new(&mut self.client, status.device, station);
                survey::survey_known(&mut Registers::by(&mut exchange), device.clone())
            });
            // A device that does not answer is gone; a loop that does not answer is an error.
            let met = match met.transpose() {
                Err(ExchangeError::WorkingCounter { .. }) => None,
                met => met.with_context(|| Device::from(&status).label())?,
            };
            all.push(met.unwrap_or(SurveyedDevice {
                device,
                status: AlStatus(0),
                code: AlStatusCode(0),
                demand: Demand::default(),
            }));
        }
        Ok(all)
    }
}

/// Connects; the error lists the running loops.
fn connect(name: &str) -> anyhow::Result<ControlClient> {
    ControlClient::connect(name).map_err(|error| {
        let running = control_socket::running().unwrap_or_default();
        match error {
            ClientError::NoLoop(_) if !running.is_empty() => {
                let others = running.join(", ");
                anyhow::Error::from(error)
                    .context(format!("no loop is named {name}; there is {others}"))
            }
            error => error.into(),
        }
    })
}

/// The only running loop, where the user named none.
fn only(running: &[String]) -> anyhow::Result<String> {
    match running {
        [one] => Ok(one.clone()),
        [] => anyhow::bail!(
            "no loop of this user runs; start one with `kadenz ethercat run`, or run this command as the user that \
             started it"
        ),
        several => anyhow::bail!(
            "{} loops run; name one of {}",
            several.len(),
            several.join(", ")
        ),
    }
}

/// A control socket with scripted answers for tests.
#[cfg(test)]
pub(super) mod scripted {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};

    use kadenz::ethercat::control::supervisor::DeviceStatus;
    use kadenz::ethercat::running_loop::control_socket::{Answer, ControlClient, Question, Reply};

    use super::RunningLoop;

    /// Calls `work` with a loop of this many devices; `answer` answers all questions except the one for the devices.
    pub(in crate::commands::ethercat) fn with_a_server<R>(
        devices: usize,
        mut answer: impl FnMut(Question) -> Reply + Send,
        work: impl FnOnce(RunningLoop) -> R,
    ) -> R {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("ethercat-scripted.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let reply = move |question| match question {
            Question::Devices {} => Reply::Ok(Answer::Devices((0..devices).map(device).collect())),
            other => answer(other),
        };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (stream, _) = listener.accept().unwrap();
                // A client that was disconnected finds no listener when it reconnects.
                drop(listener);
                attend(&stream, reply);
            });
            work(RunningLoop {
                client: ControlClient::at(&socket).unwrap(),
                name: "scripted".to_owned(),
                pid: std::process::id(),
            })
        })
    }

    /// Serves one client until it disconnects.
    fn attend(mut stream: &UnixStream, mut reply: impl FnMut(Question) -> Reply) {
        for line in BufReader::new(stream).lines() {
            let question = serde_json::from_str(&line.unwrap()).unwrap();
            let reply = reply(question);
            let mut answer = serde_json::to_vec(&reply).unwrap();
            answer.push(b'\n');
            stream.write_all(&answer).unwrap();
            if matches!(reply, Reply::Closed(_)) {
                return;
            }
        }
    }

    fn device(device: usize) -> DeviceStatus {
        let number = u16::try_from(device).unwrap();
        DeviceStatus {
            device,
            name: format!("device-{device}"),
            description: String::new(),
            station: 0x1000 + number,
            alias: 0,
            identity: [0; 4],
            position: Some(number),
            status: 8,
            code: 0,
            links: 0,
            wanted: 8,
            losses: 0,
            recoveries: 0,
            emergencies: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use kadenz::ethercat::running_loop::control_socket::{Answer, Question, Reply};

    use super::scripted::with_a_server;
    use super::*;

    /// The states of two devices in a survey in which every register gives this reply.
    fn surveyed(reply: &Reply) -> Result<Vec<u16>, String> {
        let answer = |question| match question {
            Question::Sii { .. } => Reply::Ok(Answer::Bytes(Vec::new())),
            _ => reply.clone(),
        };
        with_a_server(2, answer, |mut running| {
            let states = |all: Vec<SurveyedDevice>| all.iter().map(|it| it.status.0).collect();
            let surveyed = running.survey().map(states);
            surveyed.map_err(|it| format!("{it:#}"))
        })
    }

    #[test]
    fn devices_that_do_not_answer_are_gone_and_a_loop_that_does_not_is_an_error() {
        let silent = Reply::Error("it does not answer".to_owned());
        assert_eq!(surveyed(&silent), Ok(vec![0, 0]));
        let ended = surveyed(&Reply::Closed("the loop ends".to_owned())).unwrap_err();
        assert!(
            ended.contains("device-0") && ended.contains("ended"),
            "{ended}"
        );
    }

    #[test]
    fn one_loop_needs_no_name_and_none_or_several_are_errors() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
            only(&names).map_err(|it| it.to_string())
        };
        assert_eq!(of(&["robot"]), Ok("robot".to_owned()));
        assert!(of(&[]).unwrap_err().contains("kadenz ethercat run"));
        assert!(of(&["a", "b"]).unwrap_err().contains("name one of a, b"));
    }
}
