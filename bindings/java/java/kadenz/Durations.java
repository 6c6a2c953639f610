package kadenz;

/** A series of how long something takes. {@link Recording#durations} makes it. */
public final class Durations extends Handle {
    Durations(long number) {
        super("series", number);
    }

    /** Records what began and ended at these times of {@link Kadenz#nowNs}. */
    public void record(long beginNs, long endNs) {
        Native.record(number(), beginNs, endNs);
    }
}
