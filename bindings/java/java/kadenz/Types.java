package kadenz;

import java.nio.BufferOverflowException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * The types of a subscription, by their fingerprints; and typed messages as bytes: the fingerprint of the type, then the
 * members.
 */
final class Types {
    private final Map<Long, Class<? extends Message>> byFingerprint = new HashMap<Long, Class<? extends Message>>();

    /** The class of a name, by the thread's class loader or else this package's. */
    static Class<? extends Message> named(String name) {
        ClassLoader[] loaders = {Thread.currentThread().getContextClassLoader(), Types.class.getClassLoader()};
        for (ClassLoader loader : loaders) {
            try {
                return Class.forName(name, true, loader).asSubclass(Message.class);
            } catch (ClassNotFoundException error) {
                continue;
            } catch (ClassCastException error) {
                throw new KadenzException(name + " is not a kadenz.Message; write it with `kadenz msg gen --lang java`");
            }
        }
        throw new KadenzException("there is no class " + name
            + "; write it with `kadenz msg gen --lang java`, compile it, and add it to the class path (javaaddpath)");
    }

    static <T extends Message> T create(Class<T> type) {
        try {
            return type.getConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new KadenzException(type.getName() + " has no public constructor without arguments: " + error);
        }
    }

    void add(Class<? extends Message> type) {
        byFingerprint.put(create(type).fingerprint(), type);
    }

    boolean isEmpty() {
        return byFingerprint.isEmpty();
    }

    Message create(String channel, long fingerprint) {
        Class<? extends Message> type = byFingerprint.get(fingerprint);
        if (type == null) {
            throw new KadenzException(String.format(
                "a message on %s has the fingerprint %016x, subscribed are %s; publish and subscribe the same type",
                channel, fingerprint, this));
        }
        return create(type);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<Long, Class<? extends Message>> it : byFingerprint.entrySet()) {
            text.append(text.length() == 0 ? "" : ", ");
            text.append(String.format("%s (%016x)", it.getValue().getName(), it.getKey()));
        }
        return text.toString();
    }

    /** Bytes of a message. */
    static int size(Message message) {
        try {
            return Long.BYTES + message.encodedSize();
        } catch (IllegalArgumentException error) {
            throw unencodable(message, error);
        }
    }

    /** Writes a message at the position of a buffer with room for it. */
    static void encode(Message message, ByteBuffer into) {
        into.putLong(message.fingerprint());
        try {
            message.encodeTo(into);
        } catch (IllegalArgumentException | BufferOverflowException error) {
            throw unencodable(message, error);
        }
    }

    private static KadenzException unencodable(Message message, RuntimeException error) {
        return new KadenzException("the " + message.getClass().getName() + " cannot be encoded: " + error.getMessage()
            + "; let its arrays be as long as their lengths say", error);
    }

    /** Reads the members of a message, which take the whole rest of a buffer behind the fingerprint. */
    static void decode(Message message, ByteBuffer from, String channel) {
        String why;
        RuntimeException cause = null;
        try {
            message.decodeFrom(from);
            if (!from.hasRemaining()) {
                return;
            }
            why = from.remaining() + " bytes follow it";
        } catch (IllegalArgumentException | BufferUnderflowException error) {
            cause = error;
            why = String.valueOf(error.getMessage());
        }
        throw new KadenzException("a message of " + from.limit() + " bytes on " + channel + " is not a valid "
            + message.getClass().getName() + ": " + why + "; publish and subscribe the same type", cause);
    }
}
