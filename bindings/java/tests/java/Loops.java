import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import kadenz.Durations;
import kadenz.Kadenz;
import kadenz.Periodic;
import kadenz.Recording;
import kadenz.Run;
import kadenz.Series;
import kadenz.Tick;

/** Loops, their runs, and reading them. The argument is a folder for them. */
public final class Loops {
    public static void main(String[] arguments) throws Exception {
        String folder = arguments[0];
        recorded(folder + "/run");
        withoutGarbage();
        threads();
        slow();
        refused();
        errors(folder);
    }

    private static void recorded(String folder) throws Exception {
        Tick tick = new Tick();
        String summary;
        try (Recording run = new Recording(folder); Periodic loop = new Periodic("200Hz")) {
            Check.same(run, run.keepSamples());
            loop.deadline("100ms").record(run);
            Durations control = run.durations("control", "1s");
            Check.same(control, run.durations("control"));
            for (int i = 0; i < 20; i++) {
                Check.same(tick, loop.next(tick));
                long begin = Kadenz.nowNs();
                control.record(begin, Kadenz.nowNs());
                run.record("exact", begin, begin + 1_000);
            }
            Check.that(tick.index >= 20 && tick.latenessNs >= 0, tick);
            Check.that(Math.abs(tick.stepSeconds - 0.005 * (1 + tick.skipped)) < 1e-9, tick.stepSeconds);
            summary = run.finish();
            Check.same(summary, run.finish());
            Check.that(summary.contains("control: 20 samples"), summary);
            Check.that(summary.contains("0 misses of 1 s"), summary);
            Check.that(Files.exists(Paths.get(folder, "control.samples.arrow")), "samples are kept");
            Check.raises("the recording is closed", () -> run.keepSamples());
            Check.raises("the recording is closed", () -> run.durations("late"));
            Check.raises("the series is closed", () -> control.record(1, 2));
            loop.next(tick);
        }

        Run run = new Run(folder);
        Check.that(Arrays.asList(run.names).containsAll(Arrays.asList("lateness", "control", "exact")), run);
        Check.that(run.facts.startsWith("{") && run.facts.contains("\"host\""), run.facts);
        Series exact = run.series("exact");
        Check.same(20L, exact.count);
        Check.same(1_000.0, exact.minNs);
        Check.same(1_000.0, exact.maxNs);
        Check.same(1_000.0, exact.percentile(50));
        Check.same(1_000.0, exact.percentile(70));
        Check.same(1_000.0, exact.percentile(100));
        Check.that(Double.isNaN(exact.percentile(99.9)), "twenty values do not carry it");
        Check.that(Double.isNaN(exact.percentile(97)), "nor this, of which the file says nothing");
        Check.that(Double.isNaN(exact.percentile(-1)) && Double.isNaN(exact.percentile(101)), "these are none");
        Series lateness = run.series("lateness");
        Check.that(lateness.count >= 20 && lateness.facts.contains("\"deadline\""), lateness.facts);
        Check.that(lateness.percentile(50) <= lateness.percentile(90), "in order");
        long[][] histogram = lateness.histogram();
        long sum = 0;
        for (int i = 0; i < histogram[2].length; i++) {
            Check.that(histogram[0][i] <= histogram[1][i], "low and high");
            sum += histogram[2][i];
        }
        Check.same(lateness.count, sum);
        Check.same(lateness.count, Arrays.stream(lateness.intervals()[1]).sum());
        Check.same(0, run.comparedWith(new Run(folder)).length);
        Check.raises("it has [", () -> run.series("nothing"));

        ByteArrayOutputStream file = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(file)) {
            out.writeObject(run);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(file.toByteArray()))) {
            Check.same(lateness.maxNs, ((Run) in.readObject()).series("lateness").maxNs);
        }
    }

    private static void withoutGarbage() throws Exception {
        com.sun.management.ThreadMXBean threads =
            (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        try (Periodic loop = new Periodic("1kHz")) {
            Tick tick = new Tick();
            loop.next(tick);
            long before = threads.getThreadAllocatedBytes(self);
            for (int i = 0; i < 200; i++) {
                loop.next(tick);
            }
            long allocated = threads.getThreadAllocatedBytes(self) - before;
            Check.that(allocated < 200, allocated + " bytes for 200 ticks");
        }
    }

    private static void threads() throws Exception {
        Periodic loop = new Periodic("1kHz");
        loop.next();
        Check.Other other = new Check.Other(() -> Check.raises("of another thread", () -> loop.next()));
        Check.same(null, other.end());
        loop.next();
        loop.close();
        Check.raises("the loop is closed", () -> loop.next());
        // Closed by another thread: the loop's own thread ends it.
        Periodic ended = new Periodic("1kHz");
        ended.next();
        Check.same(null, new Check.Other(() -> ended.close()).end());
        Check.raises("the loop is closed", () -> ended.next());
        ended.close();
        // While it sleeps.
        Periodic slow = new Periodic("0.01Hz");
        Check.Other sleeper = new Check.Other(() -> slow.next());
        Thread.sleep(100);
        slow.close();
        Check.that(String.valueOf(sleeper.end()).contains("the loop is closed"), sleeper.end());
    }

    private static void slow() throws Exception {
        try (Periodic loop = new Periodic("4Hz"); Periodic never = new Periodic("0.01Hz")) {
            Check.Other sleeper = new Check.Other(() -> never.next());
            Tick first = loop.next();
            Check.same(1L, first.index - first.skipped);
            Check.that(loop.next().index >= 2, "slices of a wait are no ticks");
            sleeper.interrupt();
            Check.that(sleeper.end() instanceof InterruptedException, sleeper.end());
        }
    }

    private static void refused() throws Exception {
        try (Periodic loop = new Periodic("1kHz")) {
            loop.priority(5).lockMemory(true).cpus("0-1");
            for (String it : loop.refused()) {
                Check.that(it.contains(": "), it);
            }
            Check.raises("has started", () -> loop.priority(3));
        }
    }

    private static void errors(String folder) throws Exception {
        Check.raises("rate", () -> new Periodic("1 potato").next());
        Check.raises("", () -> new Periodic("1kHz").deadline("soon").next());
        Check.raises("1 to 99", () -> new Periodic("1kHz").priority(1000).next());
        Check.raises("", () -> new Periodic("1kHz").cpus("all of them").next());
        Files.createDirectory(Paths.get(folder, "full"));
        Files.write(Paths.get(folder, "full", "file"), new byte[1]);
        Check.raises("", () -> new Recording(folder + "/full"));
        Check.raises("nowhere", () -> new Run(folder + "/nowhere"));
        try (Recording run = new Recording(folder + "/errors")) {
            Check.raises("", () -> run.durations("../else"));
            new Periodic("1kHz").record(run).next();
            Check.raises("lateness", () -> new Periodic("1kHz").record(run).next());
        }
        Check.that(new Run(folder + "/errors").series("lateness").count >= 1, "closing finishes it");
    }
}
