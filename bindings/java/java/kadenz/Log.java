package kadenz;

/** A log of messages that is read: LCM's event log, MCAP, ROS bags. */
public final class Log extends Handle {
    private final long[] times = new long[2];

    /** Opens a log. */
    public Log(String path) {
        super("log", Native.openLog(path));
    }

    /** Returns the next message; null at the end. Passes over damaged parts. */
    public synchronized Logged next() {
        if (!Native.nextLogged(number(), times)) {
            return null;
        }
        return new Logged(Native.loggedChannel(number()), Native.loggedPayload(number()), times[0], times[1]);
    }

    /** Goes to the first message that was logged at or after a time, in nanoseconds since 1970. */
    public synchronized void seek(long unixNs) {
        Native.seekLog(number(), unixNs);
    }
}
