//! `kadenz testbed`.

#[cfg(target_os = "linux")]
mod live;
mod model;
mod named;
mod shown;

commands! {
    /// Build or compute a network of hosts, links and switches from a topology file
    ///
    /// `model` computes the round trips and losses of datagrams on plain Ethernet in such a network; `up`, `run` and
    /// `exec` build it out of network namespaces and run programs on its hosts (Linux, as root). `kadenz testbed list`
    /// lists the built-in topologies.
    enum Testbed in testbed {
        List(shown::TestbedListOptions) = shown::list => "list": shown::Topologies;
        Show(shown::Show) = shown::show => "show": shown::ShownTopology;
        Model(model::Options) = model::run => "testbed-model": model::ModelledTimes;
        #[cfg(target_os = "linux")]
        Up(live::up::Options) = live::up::run
            => "up": live::up::EndedTestbed,
            "up-detach": live::up::DetachedTestbed;
        #[cfg(target_os = "linux")]
        Run(live::run::Options) = live::run::run;
        #[cfg(target_os = "linux")]
        Exec(live::exec::Options) = live::exec::run;
        #[cfg(target_os = "linux")]
        Status(live::status::Options) = live::status::run
            => "testbed-status": live::status::StandingTestbed;
        #[cfg(target_os = "linux")]
        Down(live::down::Options) = live::down::run => "down": live::down::EndedOrCleared;
    }
}
