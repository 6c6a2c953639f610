//! The commands, one file each.

/// Declares commands, a row each: the enum for clap, the function of each, and the schemas of its answers, under
/// their names in `docs/schema`.
///
/// `enum Udp in udp` keeps the answers of its rows together in `udp.schema.json`, except for a row whose name begins
/// with the group's, as `testbed-model`, which has a file of its own. `in each` gives each row a file; without `in`,
/// the answers belong to the group above. After a row's function, further functions may add schemas. `in measure` is the
/// purpose under which the help of the program lists the command.
macro_rules! commands {
    ($(#[$about:meta])* enum $name:ident in $file:ident { $($rows:tt)* }) => {
        commands! { $(#[$about])* enum $name { $($rows)* } }
        commands! { @schemas $file { $($rows)* } }
    };
    ($(#[$about:meta])* enum $name:ident {
        $(
            $(#[cfg($cfg:meta)])?
            $(#[command($($clap:tt)*)])?
            $variant:ident($options:ty) $(in $purpose:ident)? = $run:path $(, $schemas:path)*
            $(=> $($command:literal: $answer:ty),+)?;
        )*
    }) => {
        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name {
            $( $(#[cfg($cfg)])? $(#[command($($clap)*)])? $variant($options), )*
        }

        impl $name {
            /// The names of all rows, in builds of every kind, with their purposes; those of a group have none.
            #[allow(dead_code, reason = "the program's own commands alone have purposes")]
            pub(crate) const PURPOSES: &[(&str, &str)] = &[
                $( (stringify!($variant), concat!($( stringify!($purpose) )?)), )*
            ];
        }

        /// Runs the command; the program prints its reply.
        pub(crate) fn run(command: &$name) -> anyhow::Result<$crate::output::Reply> {
            match command {
                $( $(#[cfg($cfg)])? $name::$variant(options) => $run(options).map(Into::into), )*
            }
        }
    };
    (@schemas $file:ident {
        $(
            $(#[cfg($cfg:meta)])?
            $(#[command($($clap:tt)*)])?
            $variant:ident($options:ty) $(in $purpose:ident)? = $run:path $(, $schemas:path)*
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
        Check(check::Options) in measure = check::run, outcome::schemas;
        Tune(Box<tune::Options>) in fix = tune::run => "tune": tune::TuneReport;
        Doctor(doctor::Options) in fix = doctor::run
            => "doctor": doctor::DoctorReport, "restore": doctor::Restoration;
        Hiccup(hiccup::Options) in measure = hiccup::run;
        #[command(subcommand)]
        Timer(timer::Timer) in measure = timer::run;
        #[command(subcommand)]
        Udp(udp::Udp) in measure = udp::run, udp::schemas;
        #[command(subcommand)]
        Msg(msg::Msg) in messages = msg::run, msg::schemas;
        #[command(subcommand)]
        Ethercat(ethercat::Ethercat) in fieldbus = ethercat::run, ethercat::schemas;
        #[cfg(all(feature = "camera", target_os = "linux"))]
        #[command(subcommand)]
        Camera(camera::CameraCommand) in measure = camera::run, camera::schemas;
        #[command(subcommand)]
        Experiment(experiment::Experiment) in measure = experiment::run => "experiment": experiment::Repeated;
        Campaign(campaign::Options) in measure = campaign::run, campaign::schemas
            => "campaign": kadenz::report::campaign::CampaignReport, "plan": campaign::Planned;
        Load(load::Options) in measure = load::run => "load": load::LoadReport;
        #[command(subcommand)]
        Log(log::Log) in messages = log::run, log::schemas;
        Run(run::Options) in fix = run::run => "granted": run::RunReport<'_>;
        Wire(wire::Options) in measure = wire::run => "wire": wire::WireTimes;
        #[command(subcommand)]
        Testbed(testbed::Testbed) in measure = testbed::run, testbed::schemas;
        Report(report::Options) in data = report::run;
        Show(show::Options) in data = show::run, SchemaFile::of_runs;
        Compare(compare::Options) in data = compare::run;
        Modes(modes::Options) in data = modes::run;
        Import(import::Options) in data = import::run => "import": import::Imported;
        Export(export::Options) in data = export::run;
        Completions(completions::Options) in help = completions::run;
        Man(man::Options) in help = man::run;
    }
}
