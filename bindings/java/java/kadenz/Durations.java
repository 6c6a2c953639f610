package kadenz;

/** A series of durations. {@link Recording#durations} makes it. */
public final class Durations extends Handle {
    Durations(long number) {
        super("series", number);
    }

    /** Records the span between two times of {@link Kadenz#nowNs}. */
    public void record(long beginNs, long endNs) {
        Native.record(number(), beginNs, endNs);
    }
}
