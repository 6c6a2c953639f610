package kadenz;

import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * EtherCAT: a segment whose loop runs in a thread of the library, and cached inputs and outputs. Open it, get its
 * values, start it; any thread may read and set them. Where the virtual machine ends, also by Ctrl-C, a loop that still
 * runs ends after its shutdown cycles.
 */
public final class Network extends Handle {
    /** The numbers of networks that were started and not stopped. */
    private static final Set<Long> RUNNING = Collections.newSetFromMap(new ConcurrentHashMap<Long, Boolean>());

    static {
        Runtime.getRuntime().addShutdownHook(new Thread("kadenz-shutdown") {
            @Override
            public void run() {
                stopAll();
            }
        });
    }

    /** A segment at 1 kHz: {@code eth1} is an interface, {@code sim:59} virtual, {@code sim:robot.toml} a file's. */
    public Network(String segment) {
        this(segment, "1kHz", null, 0, false, null);
    }

    /**
     * A segment with all options.
     *
     * @param cycle a rate, as 1kHz
     * @param deadline how late a cycle may begin, as 400us; null for none
     * @param priority SCHED_FIFO, 1 to 99; 0 for none
     * @param esi a vendor's ESI file or a folder of them; null for none
     */
    public Network(String segment, String cycle, String deadline, int priority, boolean locksMemory, String esi) {
        super("network", Native.openNetwork(segment, cycle, deadline, priority, locksMemory, esi));
    }

    /** An input object of a device, by the device's name or position. Call it before the start. */
    public Value input(String device, int index) {
        return input(device, index, 0, null);
    }

    /** An input with a sub-index, and a type as i32, u16, f32, bool; null for the device's own. */
    public Value input(String device, int index, int subindex, String type) {
        return new Value(this, Native.networkValue(number(), false, device, index, subindex, type));
    }

    /** An output object of a device, zero until a value is set. Call it before the start. */
    public Value output(String device, int index) {
        return output(device, index, 0, null);
    }

    /** An output with a sub-index and a type. */
    public Value output(String device, int index, int subindex, String type) {
        return new Value(this, Native.networkValue(number(), true, device, index, subindex, type));
    }

    /** Starts the loop; devices go to OP. */
    public void start() {
        start(0);
    }

    /** Starts the loop and records its series: stop the network before the recording is finished. */
    public void start(Recording recording) {
        start(recording.number());
    }

    private void start(long recording) {
        Native.startNetwork(number(), recording);
        RUNNING.add(number());
    }

    private static void stopAll() {
        for (long number : RUNNING) {
            try {
                Native.stopNetwork(number);
            } catch (KadenzException ended) {
                // It was closed, or its loop had ended: there is nothing to stop.
            }
        }
    }

    /**
     * Waits for a cycle after that of this number. Returns the number of the last one; 0 where none came in so many
     * milliseconds.
     *
     * @throws InterruptedException where the thread is interrupted while it waits
     */
    public long waitCycle(long after, long timeoutMs) throws InterruptedException {
        Deadline deadline = new Deadline(timeoutMs);
        while (true) {
            long cycle = Native.waitCycle(number(), after, deadline.slice());
            if (cycle != 0 || deadline.isOver()) {
                return cycle;
            }
        }
    }

    /** The network's state. */
    public NetworkState state() {
        long[] facts = new long[5];
        Native.networkState(number(), facts);
        return new NetworkState(facts);
    }

    /** Ends the loop after its shutdown cycles. Returns its report, a line. */
    public String stop() {
        long number = number();
        try {
            return Native.stopNetwork(number);
        } finally {
            // Not before: the virtual machine may end meanwhile.
            RUNNING.remove(number);
        }
    }

    /** An object of the process data, for any thread. */
    public static final class Value {
        private final Network network;
        private final int place;

        Value(Network network, int place) {
            this.network = network;
            this.place = place;
        }

        /** The last value that the device sent; of an output the last value that was set. */
        public double get() {
            return Native.getValue(network.number(), place);
        }

        /** The value as an integer: a float loses its fraction, a u64 above the largest long becomes negative. */
        public long getInteger() {
            return Native.getInteger(network.number(), place);
        }

        /** Sets the value, sent from the next cycle on. An exception where the object's type cannot hold it. */
        public void set(double value) {
            Native.setValue(network.number(), place, value);
        }

        /** Sets an integer. */
        public void setInteger(long value) {
            Native.setInteger(network.number(), place, value);
        }
    }
}
