package kadenz;

import java.io.Serializable;

/** One tick of a periodic loop. */
public final class Tick implements Serializable {
    private static final long serialVersionUID = 1;

    /** 1 for the first, skipped ones counted. */
    public long index;

    /** Ticks that were left out before it, because the loop was not back in time. */
    public long skipped;

    /** Seconds since the tick before: by how much a control law goes on. */
    public double stepSeconds;

    /** How late the loop woke up. */
    public long latenessNs;

    /** One for {@link Periodic#next(Tick)} to fill. */
    public Tick() {}

    @Override
    public String toString() {
        return "tick " + index + ", " + latenessNs + " ns late";
    }
}
