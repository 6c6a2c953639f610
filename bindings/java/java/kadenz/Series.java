package kadenz;

import java.io.Serializable;

/** A series of a run; values are nanoseconds, early ones negative. A missing figure is NaN. */
public final class Series implements Serializable {
    private static final long serialVersionUID = 1;

    /** Its name. */
    public final String name;

    /** Number of values. */
    public final long count;

    /** The smallest value. */
    public final double minNs;

    /** The largest value. */
    public final double maxNs;

    /** The mean. */
    public final double meanNs;

    /** The standard deviation. */
    public final double stddevNs;

    /** Count, extremes, mean, percentiles and verdict, as JSON. */
    public final String facts;

    private final double[] figures;
    private final long[][] histogram;
    private final long[][] intervals;

    Series(long run, int place, String name) {
        this.name = name;
        facts = Native.seriesFacts(run, place);
        figures = Native.seriesFigures(run, place);
        count = (long) figures[0];
        minNs = figures[1];
        maxNs = figures[2];
        meanNs = figures[3];
        stddevNs = figures[4];
        histogram = columns(Native.seriesHistogram(run, place), 3);
        intervals = columns(Native.seriesIntervals(run, place), 7);
    }

    /** The value below or at which so many per cent lie; NaN where the sample is too small to carry it. */
    public double percentile(double percent) {
        for (int at = 5; at < figures.length; at += 2) {
            if (Math.abs(figures[at] - percent) < 1e-9) {
                return figures[at + 1];
            }
        }
        long total = 0;
        for (long it : histogram[2]) {
            total += it;
        }
        double above = total * (100.0 - percent) / 100.0;
        boolean carries = percent == 100.0 || above >= 1.0 - 1e-9 * total;
        if (!(percent >= 0.0 && percent <= 100.0) || total == 0 || !carries) {
            return Double.NaN;
        }
        int place = 0;
        long passed = histogram[2][0];
        while (passed < total - above - 1e-9 && place < histogram[2].length - 1) {
            place++;
            passed += histogram[2][place];
        }
        return Math.min(histogram[1][place], maxNs);
    }

    /** Three rows: of each non-empty bucket the lowest value, the highest, and the count. */
    public long[][] histogram() {
        return copy(histogram);
    }

    /**
     * Seven rows: of each interval of the run the start, the count, the misses, the smallest and the largest value, p50
     * and p99; {@code Long.MIN_VALUE} where the interval cannot carry it.
     */
    public long[][] intervals() {
        return copy(intervals);
    }

    @Override
    public String toString() {
        return "series " + name + ": " + count + " values";
    }

    private static long[][] columns(long[] rows, int width) {
        long[][] columns = new long[width][rows.length / width];
        for (int at = 0; at < rows.length; at++) {
            columns[at % width][at / width] = rows[at];
        }
        return columns;
    }

    private static long[][] copy(long[][] columns) {
        long[][] copy = new long[columns.length][];
        for (int at = 0; at < columns.length; at++) {
            copy[at] = columns[at].clone();
        }
        return copy;
    }
}
