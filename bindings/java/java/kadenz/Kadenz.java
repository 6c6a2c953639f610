package kadenz;

/** The library's version and clock. */
public final class Kadenz {
    private Kadenz() {}

    /** The version of the native library. */
    public static String version() {
        return Native.version();
    }

    /** The present time of the clock of all time stamps, in nanoseconds; on Linux that of {@link System#nanoTime}. */
    public static long nowNs() {
        return Native.nowNs();
    }
}
