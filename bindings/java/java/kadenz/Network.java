package kadenz;

/**
 * EtherCAT: a segment whose loop runs in a thread of the library, and cached inputs and outputs. Open it, ask for its values, start it; any
 * thread may read and set them.
 */
public final class Network extends Handle {
    /** A segment at 1 kHz: {@code eth1} is an interface, {@code sim:59} a virtual one, {@code sim:robot.toml} one that a file describes. */
    public Network(String segment) {
        this(segment, "1kHz", null, 0, false, null);
    }

    /**
     * With all that it can ask for.
     *
     * @param cycle a rate, as 1kHz
     * @param deadline how late the loop may be, as 400us; null for none
     * @param priority SCHED_FIFO, 1 to 99; 0 for none
     * @param esi a file or folder of vendors' descriptions; null for none
     */
    public Network(String segment, String cycle, String deadline, int priority, boolean locksMemory, String esi) {
        super("network", Native.openNetwork(segment, cycle, deadline, priority, locksMemory, esi));
    }

    /** An object that a device tells, by the device's name or position. Before the start. */
    public Value input(String device, int index) {
        return input(device, index, 0, null);
    }

    /** The same with a sub-index, and a type as i32, u16, f32, bool; null for the device's own. */
    public Value input(String device, int index, int subindex, String type) {
        return new Value(this, Native.networkValue(number(), false, device, index, subindex, type));
    }

    /** An object that a device is told, zero until it is set. Before the start. */
    public Value output(String device, int index) {
        return output(device, index, 0, null);
    }

    /** The same with a sub-index and a type. */
    public Value output(String device, int index, int subindex, String type) {
        return new Value(this, Native.networkValue(number(), true, device, index, subindex, type));
    }

    /** Starts the loop; devices go to OP. */
    public void start() {
        Native.startNetwork(number(), 0);
    }

    /** Starts the loop, whose series go into a recording: stop the network before that is finished. */
    public void start(Recording recording) {
        Native.startNetwork(number(), recording.number());
    }

    /**
     * Waits for a cycle after that of this number. Returns the number of the last one; 0 where none came in so many milliseconds.
     *
     * @throws InterruptedException where the thread is interrupted while it waits
     */
    public long waitCycle(long after, long timeoutMs) throws InterruptedException {
        Patience patience = new Patience(timeoutMs);
        while (true) {
            long cycle = Native.waitCycle(number(), after, patience.slice());
            if (cycle != 0 || patience.isOver()) {
                return cycle;
            }
        }
    }

    /** How it is. */
    public NetworkState state() {
        long[] facts = new long[5];
        Native.networkState(number(), facts);
        return new NetworkState(facts);
    }

    /** Ends the loop after its shutdown cycles. Returns a line of what came of it. */
    public String stop() {
        return Native.stopNetwork(number());
    }

    /** An object of the process data, for any thread. */
    public static final class Value {
        private final Network network;
        private final int place;

        Value(Network network, int place) {
            this.network = network;
            this.place = place;
        }

        /** What the device told last, or what was set last. */
        public double get() {
            return Native.getValue(network.number(), place);
        }

        /** The same as an integer, exact beyond 2^53: a float loses its fraction, and a u64 above the largest long becomes negative. */
        public long getInteger() {
            return Native.getInteger(network.number(), place);
        }

        /** What the device is told from the next cycle on. An exception where the value has no place in the object's type. */
        public void set(double value) {
            Native.setValue(network.number(), place, value);
        }

        /** The same for integers. */
        public void setInteger(long value) {
            Native.setInteger(network.number(), place, value);
        }
    }
}
