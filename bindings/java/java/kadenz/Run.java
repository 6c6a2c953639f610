package kadenz;

import java.io.Serializable;
import java.util.Arrays;

/** A finished run, read as a whole: there is nothing to close. */
public final class Run implements Serializable {
    private static final long serialVersionUID = 1;

    /** The path that it was read from. */
    public final String path;

    /** The content of run.json, as JSON. */
    public final String facts;

    /** The conditions that spoil it. */
    public final String[] warnings;

    /** The names of its series. */
    public final String[] names;

    private final Series[] series;

    /** Reads a run folder, complete or not, or a file of another program that {@code kadenz import} takes. */
    public Run(String path) {
        this.path = path;
        long run = Native.openRun(path);
        try {
            facts = Native.runFacts(run);
            warnings = Native.runWarnings(run);
            names = Native.seriesNames(run);
            series = new Series[names.length];
            for (int place = 0; place < names.length; place++) {
                series[place] = new Series(run, place, names[place]);
            }
        } finally {
            Native.close(run);
        }
    }

    /** The series of a name. */
    public Series series(String name) {
        for (Series it : series) {
            if (it.name.equals(name)) {
                return it;
            }
        }
        throw new KadenzException("the run has no series " + name + "; it has " + Arrays.toString(names));
    }

    /** Differences from a baseline beyond chance, a sentence each: 95 % intervals of the ratios do not hold 1. */
    public String[] comparedWith(Run baseline) {
        return Native.compare(baseline.path, path);
    }

    @Override
    public String toString() {
        return "run " + path + ": " + Arrays.toString(names);
    }
}
