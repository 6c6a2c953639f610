//! The contestants: ours by URL, and the bare libraries beside them.

use super::servers::Kind;

/// Those that do the same, and stand in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// LCM's multicast.
    Multicast,
    /// Memory that programs of one host share.
    Memory,
    /// LCM's server in the middle.
    Server,
    /// Sockets with a listener.
    Sockets,
    /// Zenoh.
    Zenoh,
    /// DDS.
    Dds,
    /// A broker of AMQP.
    Broker,
    /// ROS 1.
    Ros,
}

/// Who plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// `kadenz msg latency`.
    Ours,
    /// The same, of a feature of the program, whose library has threads of its own.
    OursBehind(&'static str),
    /// A peer, by its name.
    Peer(&'static str),
}

/// What measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contestant {
    /// As the table calls it.
    pub name: &'static str,
    pub(super) group: Group,
    pub(super) player: Player,
    /// Where both ends meet; `{own}` is a number of this run, `{folder}` a folder, and `{port}` where
    /// the server listens.
    pub(super) url: &'static str,
    /// What has to run there.
    pub(super) server: Option<Kind>,
    /// What ours is held against.
    pub(super) beside: &'static [&'static str],
}

impl Group {
    /// All, in the order of their tables.
    pub const ALL: [Self; 8] = [
        Self::Multicast,
        Self::Memory,
        Self::Server,
        Self::Sockets,
        Self::Zenoh,
        Self::Dds,
        Self::Broker,
        Self::Ros,
    ];

    /// As `--only` and the page call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Multicast => "multicast",
            Self::Memory => "memory",
            Self::Server => "server",
            Self::Sockets => "sockets",
            Self::Zenoh => "zenoh",
            Self::Dds => "dds",
            Self::Broker => "broker",
            Self::Ros => "ros",
        }
    }
}

impl Contestant {
    const fn ours(
        group: Group,
        name: &'static str,
        url: &'static str,
        beside: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            group,
            player: Player::Ours,
            url,
            server: None,
            beside,
        }
    }

    const fn peer(group: Group, name: &'static str, url: &'static str) -> Self {
        Self {
            player: Player::Peer(name),
            ..Self::ours(group, name, url, &[])
        }
    }

    const fn played_by(self, player: Player) -> Self {
        Self { player, ..self }
    }

    const fn at(self, server: Kind) -> Self {
        Self {
            server: Some(server),
            ..self
        }
    }

    /// Whether a word of `--only` means it: its name, with `-` for a space, or its group's.
    pub fn is_meant_by(&self, word: &str) -> bool {
        let name = self.name.to_lowercase().replace(' ', "-");
        word == name || word == self.group.name()
    }
}

/// Groups and ports are of the benchmark's own; large messages get the same receive buffers.
const MULTICAST: &str = "udpm://239.255.76.68:7668?ttl=0&recv_buf_size=33554432";
/// What a ROS node has to say of a topic; the bytes are ours.
const ROS: &str =
    "ros1://127.0.0.1:{port}?type=std_msgs/UInt8MultiArray&md5=82373f1612381bb6ee473b5cd6f5d89c";

/// The publisher of Zenoh's own peer listens; ours find each other.
const ZENOH: &str = "zenoh://?listen=tcp/127.0.0.1:0&multicast=yes";

/// All, in the order of the first round.
pub const ALL: [Contestant; 23] = {
    use Group::{Broker, Dds, Memory, Multicast, Ros, Server, Sockets, Zenoh};
    [
        Contestant::ours(Multicast, "udpm", MULTICAST, &["liblcm", "liblcm 1.5.3"]),
        Contestant::peer(Multicast, "liblcm", MULTICAST),
        Contestant::peer(Multicast, "liblcm 1.5.3", MULTICAST),
        Contestant::ours(Memory, "shm", "shm://bench-{own}", &["iceoryx2"]),
        Contestant::peer(Memory, "iceoryx2", "peer-{own}"),
        Contestant::ours(
            Memory,
            "shm polled",
            "shm://bench-polled-{own}?wait=poll",
            &["iceoryx2 polled"],
        ),
        Contestant::peer(Memory, "iceoryx2 polled", "peer-polled-{own}?wait=poll")
            .played_by(Player::Peer("iceoryx2")),
        Contestant::ours(Memory, "memq", "memq://", &[]),
        Contestant::ours(
            Server,
            "tcpq",
            "tcpq://127.0.0.1:{port}",
            &["liblcm tcpq", "liblcm 1.5.3 tcpq"],
        )
        .at(Kind::Tcpq),
        Contestant::peer(Server, "liblcm tcpq", "tcpq://127.0.0.1:{port}")
            .played_by(Player::Peer("liblcm"))
            .at(Kind::Tcpq),
        Contestant::peer(Server, "liblcm 1.5.3 tcpq", "tcpq://127.0.0.1:{port}")
            .played_by(Player::Peer("liblcm 1.5.3"))
            .at(Kind::Tcpq),
        Contestant::ours(Sockets, "zmq", "zmq://127.0.0.1:7669", &["libzmq"]),
        Contestant::peer(Sockets, "libzmq", "tcp://127.0.0.1:7670"),
        Contestant::peer(Sockets, "nng", "ipc://{folder}/nng"),
        Contestant::ours(Zenoh, "zenoh", ZENOH, &["Zenoh alone"])
            .played_by(Player::OursBehind("zenoh")),
        Contestant::peer(Zenoh, "Zenoh alone", "tcp/127.0.0.1:7671")
            .played_by(Player::Peer("zenoh")),
        Contestant::ours(Dds, "dds", "dds://?bus=bench_{own}", &["rustdds"])
            .played_by(Player::OursBehind("dds")),
        Contestant::peer(Dds, "rustdds", "peer"),
        Contestant::peer(Dds, "Cyclone DDS", "peer"),
        Contestant::ours(
            Broker,
            "amqp",
            "amqp://127.0.0.1:{port}?exchange=bench-{own}",
            &["librabbitmq-c"],
        )
        .at(Kind::RabbitMq),
        Contestant::peer(
            Broker,
            "librabbitmq-c",
            "amqp://guest:guest@127.0.0.1:{port}/",
        )
        .at(Kind::RabbitMq),
        Contestant::ours(Ros, "ros1", ROS, &["roscpp"]).at(Kind::RosMaster),
        Contestant::peer(Ros, "roscpp", "http://127.0.0.1:{port}").at(Kind::RosMaster),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own_and_ours_stand_beside_others_of_their_group() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), ALL.len());
        for ours in ALL {
            for beside in ours.beside {
                let theirs = ALL.iter().find(|it| it.name == *beside);
                let theirs = theirs.expect("it plays too");
                assert_eq!((theirs.group, theirs.server), (ours.group, ours.server));
                assert!(matches!(theirs.player, Player::Peer(_)), "{beside}");
            }
        }
    }

    #[test]
    fn a_word_means_one_by_its_name_or_all_of_a_group() {
        let meant = |word: &str| ALL.iter().filter(|it| it.is_meant_by(word)).count();
        assert_eq!(meant("udpm"), 1);
        assert_eq!(meant("liblcm-1.5.3"), 1);
        assert_eq!(meant("cyclone-dds"), 1);
        assert_eq!(meant("multicast"), 3);
        assert_eq!(meant("multi"), 0);
    }

    #[test]
    fn a_place_names_a_port_where_a_server_says_which() {
        for it in ALL {
            assert_eq!(
                it.url.contains("{port}"),
                it.server.is_some(),
                "{}",
                it.name
            );
        }
    }
}
