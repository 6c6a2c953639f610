//! `kadenz log`, one file per command.

mod convert;
mod copying;
mod cut;
mod info;
mod input;
mod merge;
mod moment;
mod output_file;
mod play;
mod record;
mod recover;
mod tables;

commands! {
    /// Record messages, play them again, and work on logs.
    ///
    /// Reads LCM's event logs, MCAP, and the bags of ROS 1 and ROS 2, whatever their names are; writes MCAP, and
    /// LCM's event log where the file's name does not end in .mcap.
    enum Log in log {
        Info(info::Options) = info::run => "info": info::Logs;
        Record(Box<record::Options>) = record::run => "record": record::RecordedLog;
        Play(Box<play::Options>) = play::run => "play": play::PlayedLog;
        Cut(cut::Options) = cut::run => "copy": copying::CopiedLog<'_>;
        Merge(merge::Options) = merge::run;
        Convert(convert::Options) = convert::run => "tables": tables::WrittenTables;
        Recover(recover::Options) = recover::run;
    }
}
