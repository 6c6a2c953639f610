package kadenz;

import java.util.HashMap;
import java.util.Map;

/** The types of a subscription, by their fingerprints. */
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
}
