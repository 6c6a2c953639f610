package robot;

import java.nio.ByteBuffer;

/** What `kadenz msg gen --lang java` makes of: struct state_t { int64_t utime; int32_t n; double position[n]; } */
public final class state_t implements kadenz.Message {
    private static final long serialVersionUID = 1;

    public long utime;
    public int n;
    public double[] position = new double[0];

    public int encodedSize() {
        return 12 + 8 * position.length;
    }

    public long fingerprint() {
        return 0x0123456789abcdefL;
    }

    public void encodeTo(ByteBuffer buffer) {
        if (n != position.length) {
            throw new IllegalArgumentException("position holds " + position.length + " elements, but is to hold " + n);
        }
        buffer.putLong(utime).putInt(n);
        for (double it : position) {
            buffer.putDouble(it);
        }
    }

    public void decodeFrom(ByteBuffer buffer) {
        utime = buffer.getLong();
        n = buffer.getInt();
        if (n < 0 || n > buffer.remaining() / 8) {
            throw new IllegalArgumentException("n is " + n);
        }
        position = new double[n];
        for (int i = 0; i < n; i++) {
            position[i] = buffer.getDouble();
        }
    }
}
