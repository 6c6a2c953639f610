package kadenz;

import java.io.Serializable;

/** One tick of a periodic loop. */
public final class Tick implements Serializable {
    private static final long serialVersionUID = 1;

    /** Its number: 1 for the first; skipped ticks count. */
    public long index;

    /** Ticks that were skipped before it, because the loop's body took too long. */
    public long skipped;

    /** The time step of the control law: seconds since the tick before. */
    public double stepSeconds;

    /** How late the loop woke up. */
    public long latenessNs;

    /** A tick for {@link Periodic#next(Tick)} to fill. */
    public Tick() {}

    @Override
    public String toString() {
        return "tick " + index + ", " + latenessNs + " ns late";
    }
}
