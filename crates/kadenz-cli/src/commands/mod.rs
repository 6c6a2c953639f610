//! The commands, one file each.

/// Declares commands, a row each: the enum for clap, the function of each, and the schemas of its answers, under
/// their names in `docs/schema`.
///
/// `enum Udp in udp` keeps the answers of its rows together in `udp.schema.json`, except for a row whose name begins
/// with the group's, as `testbed-model`, which has a file of its own. `in each` gives each row a file; without `in`,
/// the answers belong to the group above. After a row's function, further functions may add schemas.
macro_rules! commands {
    ($(#[$about:meta])* enum $name:ident in $file:ident { $($rows:tt)* }) => {
        commands! { $(#[$about])* enum $name { $($rows)* } }
        commands! { @schemas $file { $($rows)* } }
    };
    ($(#[$about:meta])* enum $name:ident {
        $(
            $(#[cfg($cfg:meta)])?
            $(#[command($($clap:tt)*)])?
            $variant:ident($options:ty) = $run:path $(, $schemas:path)*
            $(=> $($command:literal: $answer:ty),+)?;
        )*
    }) => {
        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name {
            $( $(#[cfg($cfg)])? $(#[command($($clap)*)])? $variant($options), )*
        }

        /// Runs the command.
        pub(crate) fn run(command: &$name) -> anyhow::Result<$crate::output::Outcome> {
            match command {
                $( $(#[cfg($cfg)])? $name::$variant(options) => $run(options), )*
            }
        }
    };
    (@schemas $file:ident {
        $(
            $(#[cfg($cfg:meta)])?
            $(#[command($($clap:tt)*)])?
            $variant:ident($options:ty) = $run:path $(, $schemas:path)*
            $(=> $($command:literal: $answer:ty),+)?;
        )*
    }) => {
        /// The schemas of `docs/schema`.
        #[cfg(all(test, target_os = "linux"))]
        pub(crate) fn schemas() -> Vec<kadenz::report::schema::SchemaFile> {
            let mut all = $crate::schemas::Schemas::new(stringify!($file));
            $(
                $(#[cfg($cfg)])?
                {
                    all.command();
                    $( all.extend($schemas()); )*
                    $( $( all.answer::<$answer>($command); )+ )?
                }
            )*
            all.finish()
        }
    };
}

#[cfg(all(feature = "camera", target_os = "linux"))]
mod camera;
mod campaign;
mod cheapest;
mod check;
mod child;
mod compare;
mod completions;
mod doctor;
mod ethercat;
#[cfg(all(test, target_os = "linux"))]
mod example;
mod experiment;
mod export;
mod hiccup;
mod import;
mod interrupt;
mod load;
mod log;
mod man;
mod modes;
mod msg;
mod outcome;
mod probe;
mod report;
mod run;
mod show;
mod testbed;
mod timer;
mod tune;
mod udp;
mod wire;

#[cfg(all(test, target_os = "linux"))]
use kadenz::report::schema::SchemaFile;

commands! {
    /// Every command of the program. The help of each is the doc comment of its options.
    enum Command in each {
        Check(check::Options) = check::run, outcome::schemas;
        Tune(Box<tune::Options>) = tune::run => "tune": tune::TuneReport<'_>;
        Doctor(doctor::Options) = doctor::run
            => "doctor": doctor::DoctorReport<'_>, "restore": doctor::Restoration<'_>;
        Hiccup(hiccup::Options) = hiccup::run;
        #[command(subcommand)]
        Timer(timer::Timer) = timer::run;
        #[command(subcommand)]
        Udp(udp::Udp) = udp::run, udp::schemas;
        #[command(subcommand)]
        Msg(msg::Msg) = msg::run, msg::schemas;
        #[command(subcommand)]
        Ethercat(ethercat::Ethercat) = ethercat::run, ethercat::schemas;
        #[cfg(all(feature = "camera", target_os = "linux"))]
        #[command(subcommand)]
        Camera(camera::CameraCommand) = camera::run, camera::schemas;
        #[command(subcommand)]
        Experiment(experiment::Experiment) = experiment::run => "experiment": experiment::Repeated<'_>;
        Campaign(campaign::Options) = campaign::run, campaign::schemas
            => "campaign": kadenz::report::campaign::CampaignReport, "plan": campaign::Planned;
        Load(load::Options) = load::run => "load": load::report::LoadReport<'_>;
        #[command(subcommand)]
        Log(log::Log) = log::run, log::schemas;
        Run(run::Options) = run::run;
        Wire(wire::Options) = wire::run => "wire": wire::WireTimes;
        #[command(subcommand)]
        Testbed(testbed::Testbed) = testbed::run, testbed::schemas;
        Report(report::Options) = report::run;
        Show(show::Options) = show::run, SchemaFile::of_runs;
        Compare(compare::Options) = compare::run;
        Modes(modes::Options) = modes::run;
        Import(import::Options) = import::run => "import": import::Imported<'_>;
        Export(export::Options) = export::run;
        Completions(completions::Options) = completions::run;
        Man(man::Options) = man::run;
    }
}
