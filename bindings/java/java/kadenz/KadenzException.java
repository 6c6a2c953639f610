package kadenz;

/** What Kadenz could not do; its text names the cause and the remedy. */
public final class KadenzException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Says so. */
    public KadenzException(String text) {
        super(text);
    }

    KadenzException(String text, Throwable cause) {
        super(text, cause);
    }
}
