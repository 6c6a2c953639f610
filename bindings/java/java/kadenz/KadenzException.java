package kadenz;

/** An error of Kadenz; its text names the cause and the remedy. */
public final class KadenzException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** An exception with a text. */
    public KadenzException(String text) {
        super(text);
    }

    KadenzException(String text, Throwable cause) {
        super(text, cause);
    }
}
