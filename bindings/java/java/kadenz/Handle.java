package kadenz;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** An object of the native library. Opening one closes those that were garbage collected. */
abstract class Handle implements AutoCloseable {
    private static final ReferenceQueue<Handle> FORGOTTEN = new ReferenceQueue<Handle>();
    private static final Set<Kept> ALL = Collections.newSetFromMap(new ConcurrentHashMap<Kept, Boolean>());

    private final String name;
    private final Kept kept;

    /** Takes the number of a new object, and its name for users. */
    Handle(String name, long number) {
        this.name = name;
        this.kept = new Kept(this, number);
        ALL.add(kept);
        for (Reference<?> it = FORGOTTEN.poll(); it != null; it = FORGOTTEN.poll()) {
            ((Kept) it).close();
        }
    }

    /** The object's number; an exception where it is closed. */
    final long number() {
        long number = kept.number.get();
        if (number == 0) {
            throw new KadenzException("the " + name + " is closed; open another one");
        }
        return number;
    }

    /** Whether it was not closed. */
    public final boolean isOpen() {
        return kept.number.get() != 0;
    }

    /** Closes it, also while another thread waits, which gets an exception; does nothing where it is closed already. */
    @Override
    public void close() {
        kept.close();
    }

    private static final class Kept extends PhantomReference<Handle> {
        private final AtomicLong number;

        Kept(Handle handle, long number) {
            super(handle, FORGOTTEN);
            this.number = new AtomicLong(number);
        }

        void close() {
            long number = this.number.getAndSet(0);
            if (number != 0) {
                Native.close(number);
            }
            ALL.remove(this);
        }
    }
}
