package kadenz.generated;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** What the classes that {@code kadenz msg gen --lang java} writes have in common: LCM's encoding. */
public final class Codec {
    private static final int MAX_DEPTH = 128;

    private Codec() {}

    /** A message with the fingerprint of its type. */
    public static byte[] encode(kadenz.Message message) {
        ByteBuffer buffer = ByteBuffer.allocate(8 + message.encodedSize());
        buffer.putLong(message.fingerprint());
        message.encodeTo(buffer);
        return buffer.array();
    }

    /** Reads the whole of bytes into a message, which is returned. */
    public static <T extends kadenz.Message> T decode(byte[] bytes, T message) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        if (bytes.length < 8 || buffer.getLong() != message.fingerprint()) {
            String name = message.getClass().getName();
            throw new IllegalArgumentException("the message is not of the type " + name + ", or of another version of it");
        }
        message.decodeFrom(buffer);
        if (buffer.hasRemaining()) {
            throw new IllegalArgumentException("the message has " + buffer.remaining() + " bytes more than its type");
        }
        return message;
    }

    /** A message for people. */
    public static String text(String name, String[] members, Object[] values) {
        StringBuilder text = new StringBuilder(name).append('{');
        for (int i = 0; i < members.length; i++) {
            String value = Arrays.deepToString(new Object[] {values[i]});
            text.append(i == 0 ? "" : ", ").append(members[i]).append('=').append(value, 1, value.length() - 1);
        }
        return text.append('}').toString();
    }

    private static IllegalArgumentException longer(String name, long count) {
        return new IllegalArgumentException(name + " would have " + count + " elements, more than the message can hold");
    }

    /** Writes members, big-endian. Without a buffer it counts their bytes. */
    public static final class Writer {
        private final ByteBuffer buffer;
        private int size;

        public Writer(ByteBuffer buffer) {
            this.buffer = buffer == null ? null : buffer.duplicate();
        }

        /** Advances the buffer that was given behind what was written. */
        public void end(ByteBuffer given) {
            ((Buffer) given).position(buffer.position());
        }

        public int size() {
            return size;
        }

        /** Whether there is a buffer, which has room for so many bytes. */
        private boolean claim(long bytes) {
            size = Math.toIntExact(size + bytes);
            if (buffer != null && buffer.remaining() < bytes) {
                throw new IllegalArgumentException("the buffer of " + buffer.limit() + " bytes is too short for the message");
            }
            return buffer != null;
        }

        private void skip(int bytes) {
            ((Buffer) buffer).position(buffer.position() + bytes);
        }

        /** Holds the length of an array against what it must be. */
        public void length(String name, int length, long stated) {
            if (length != stated) {
                throw new IllegalArgumentException(name + " holds " + length + " elements, but is to hold " + stated);
            }
        }

        public void put(byte value) {
            if (claim(1)) buffer.put(value);
        }

        public void put(short value) {
            if (claim(2)) buffer.putShort(value);
        }

        public void put(int value) {
            if (claim(4)) buffer.putInt(value);
        }

        public void put(long value) {
            if (claim(8)) buffer.putLong(value);
        }

        public void put(float value) {
            if (claim(4)) buffer.putFloat(value);
        }

        public void put(double value) {
            if (claim(8)) buffer.putDouble(value);
        }

        public void put(boolean value) {
            put((byte) (value ? 1 : 0));
        }

        public void put(byte[] values) {
            if (claim(values.length)) buffer.put(values);
        }

        public void put(short[] values) {
            if (!claim(2L * values.length)) return;
            buffer.asShortBuffer().put(values);
            skip(2 * values.length);
        }

        public void put(int[] values) {
            if (!claim(4L * values.length)) return;
            buffer.asIntBuffer().put(values);
            skip(4 * values.length);
        }

        public void put(long[] values) {
            if (!claim(8L * values.length)) return;
            buffer.asLongBuffer().put(values);
            skip(8 * values.length);
        }

        public void put(float[] values) {
            if (!claim(4L * values.length)) return;
            buffer.asFloatBuffer().put(values);
            skip(4 * values.length);
        }

        public void put(double[] values) {
            if (!claim(8L * values.length)) return;
            buffer.asDoubleBuffer().put(values);
            skip(8 * values.length);
        }

        public void put(boolean[] values) {
            for (boolean value : values) put(value);
        }

        public void text(String name, String value) {
            if (value.indexOf(0) >= 0) {
                throw new IllegalArgumentException("the string " + name + " holds a NUL, which would end it for every receiver");
            }
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            put(bytes.length + 1);
            put(bytes);
            put((byte) 0);
        }
    }

    /** Reads members, and takes no more memory than the bytes can carry. */
    public static final class Reader {
        private final ByteBuffer buffer;
        private int depth;
        /** So many elements and rows may take no bytes. */
        private long free;

        public Reader(ByteBuffer buffer) {
            this.buffer = buffer.duplicate();
            this.free = buffer.remaining() + 1024L;
        }

        /** Advances the buffer that was given behind what was read. */
        public void end(ByteBuffer given) {
            ((Buffer) given).position(buffer.position());
        }

        /** Goes into a message that may hold itself. */
        public void enter(String name) {
            if (++depth > MAX_DEPTH) {
                throw new IllegalArgumentException(name + " lies more than " + MAX_DEPTH + " deep within itself, which is not followed");
            }
        }

        public void leave() {
            depth--;
        }

        private void need(String name, long bytes) {
            if (bytes > buffer.remaining()) {
                throw new IllegalArgumentException("the message ends within " + name);
            }
        }

        private void skip(int bytes) {
            ((Buffer) buffer).position(buffer.position() + bytes);
        }

        /** What a member states as an array's length. */
        public int length(String name, long stated) {
            if (stated < 0) throw new IllegalArgumentException("the length of " + name + " is " + stated);
            if (stated > Integer.MAX_VALUE) throw longer(name, stated);
            return (int) stated;
        }

        /** That the message has room for an array whose elements take so many bytes at least. */
        public void room(String name, int least, int... sizes) {
            long count = 1;
            long each = least;
            for (int size : sizes) {
                if (size == 0) {
                    each = 0;
                    break;
                }
                count *= size;
                if (count > Integer.MAX_VALUE) throw longer(name, count);
            }
            if (sizes[0] == 0) return;
            if (each == 0) free -= count;
            if (free < 0 || count * each > buffer.remaining()) throw longer(name, count);
        }

        public byte int8(String name) {
            need(name, 1);
            return buffer.get();
        }

        public short int16(String name) {
            need(name, 2);
            return buffer.getShort();
        }

        public int int32(String name) {
            need(name, 4);
            return buffer.getInt();
        }

        public long int64(String name) {
            need(name, 8);
            return buffer.getLong();
        }

        public float real32(String name) {
            need(name, 4);
            return buffer.getFloat();
        }

        public double real64(String name) {
            need(name, 8);
            return buffer.getDouble();
        }

        public boolean flag(String name) {
            return int8(name) != 0;
        }

        public String text(String name) {
            int length = length(name, int32(name));
            need(name, length);
            byte[] bytes = new byte[length];
            buffer.get(bytes);
            if (length == 0 || bytes[length - 1] != 0) {
                throw new IllegalArgumentException("the string " + name + " does not end with a NUL");
            }
            return new String(bytes, 0, length - 1, StandardCharsets.UTF_8);
        }

        public void get(String name, byte[] into) {
            need(name, into.length);
            buffer.get(into);
        }

        public void get(String name, short[] into) {
            need(name, 2L * into.length);
            buffer.asShortBuffer().get(into);
            skip(2 * into.length);
        }

        public void get(String name, int[] into) {
            need(name, 4L * into.length);
            buffer.asIntBuffer().get(into);
            skip(4 * into.length);
        }

        public void get(String name, long[] into) {
            need(name, 8L * into.length);
            buffer.asLongBuffer().get(into);
            skip(8 * into.length);
        }

        public void get(String name, float[] into) {
            need(name, 4L * into.length);
            buffer.asFloatBuffer().get(into);
            skip(4 * into.length);
        }

        public void get(String name, double[] into) {
            need(name, 8L * into.length);
            buffer.asDoubleBuffer().get(into);
            skip(8 * into.length);
        }

        public void get(String name, boolean[] into) {
            need(name, into.length);
            for (int i = 0; i < into.length; i++) into[i] = buffer.get() != 0;
        }
    }
}
