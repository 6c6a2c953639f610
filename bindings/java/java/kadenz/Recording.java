package kadenz;

import java.util.HashMap;
import java.util.Map;

/** A run that is being written. {@code kadenz show FOLDER} and {@link Run} read it. */
public final class Recording extends Handle {
    private final Map<String, Durations> series = new HashMap<String, Durations>();
    private String summary;

    /** A run in a new or empty folder. */
    public Recording(String folder) {
        super("recording", Native.createRecording(folder));
    }

    /** The series of durations of that name. */
    public synchronized Durations durations(String name) {
        Durations durations = series.get(name);
        if (durations == null) {
            durations = new Durations(Native.durations(number(), name));
            series.put(name, durations);
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
                throw new KadenzException("a network still records into the run; stop() it first");
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
