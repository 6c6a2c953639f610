package kadenz;

import java.io.Serializable;

/** The state of a network. */
public final class NetworkState implements Serializable {
    private static final long serialVersionUID = 1;

    /** Whether its loop runs. */
    public final boolean isRunning;

    /** Cycles up to now. */
    public final long cycles;

    /** Frames of process data that did not come back in their cycle. */
    public final long lost;

    /** Devices that answer and are in OP. */
    public final int operational;

    /** Number of devices. */
    public final int devices;

    NetworkState(long[] facts) {
        isRunning = facts[0] != 0;
        cycles = facts[1];
        lost = facts[2];
        operational = (int) facts[3];
        devices = (int) facts[4];
    }

    @Override
    public String toString() {
        return cycles + " cycles, " + lost + " frames lost, " + operational + " of " + devices + " devices in OP";
    }
}
