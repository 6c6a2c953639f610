package kadenz;

import java.util.HashMap;
import java.util.Map;

/** A run that is being written. {@code kadenz show FOLDER} and {@link Run} read it. */
public final class Recording extends Handle {
    private static final String IN_USE = "a network still records into the run; stop() it first";

    private final Map<String, Durations> series = new HashMap<String, Durations>();
    private final Map<String, String> deadlines = new HashMap<String, String>();
    private String summary;

    /** A run in a new or empty folder. */
    public Recording(String folder) {
        super("recording", Native.createRecording(folder));
    }

    /**
     * Keeps each sample of the series and loops that are added afterwards, with its time: 32 bytes a sample in memory
     * until it is on disk. {@code kadenz export}, {@code kadenz modes} and the chart of a report over time need them;
     * percentiles and misses do not.
     */
    public synchronized Recording keepSamples() {
        if (!Native.keepSamples(number())) {
            throw new KadenzException(IN_USE);
        }
        return this;
    }

    /** The series of durations of that name. */
    public Durations durations(String name) {
        return durations(name, null);
    }

    /** The series of durations of that name, where longer ones than the deadline count as missed: 200us. */
    public synchronized Durations durations(String name, String deadline) {
        Durations durations = series.get(name);
        if (durations == null) {
            durations = new Durations(Native.durations(number(), name, deadline));
            series.put(name, durations);
            deadlines.put(name, deadline);
        } else if (deadline != null && !deadline.equals(deadlines.get(name))) {
            throw new KadenzException("the series " + name + " has the deadline " + deadlines.get(name) + ", not "
                    + deadline + "; state it in the first call for it");
        }
        return durations;
    }

    /** Records the span between two times of {@link Kadenz#nowNs}. */
    public void record(String name, long beginNs, long endNs) {
        durations(name).record(beginNs, endNs);
    }

    /** Ends the run. Returns a few lines: counts, percentiles, missed deadlines, warnings. */
    public synchronized String finish() {
        if (summary == null) {
            boolean isOver = true;
            try {
                summary = Native.finish(number());
                isOver = summary != null;
            } finally {
                if (isOver) {
                    for (Durations it : series.values()) {
                        it.close();
                    }
                    super.close();
                }
            }
            if (!isOver) {
                throw new KadenzException(IN_USE);
            }
        }
        return summary;
    }

    /** Ends the run where it was not finished. */
    @Override
    public synchronized void close() {
        if (isOpen()) {
            finish();
        }
    }
}
