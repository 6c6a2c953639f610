package kadenz;

/** What belongs to no object. */
public final class Kadenz {
    private Kadenz() {}

    /** The version of the native library. */
    public static String version() {
        return Native.version();
    }

    /** The clock of all stamps, in nanoseconds. On Linux it is that of {@link System#nanoTime}. */
    public static long nowNs() {
        return Native.nowNs();
    }
}
