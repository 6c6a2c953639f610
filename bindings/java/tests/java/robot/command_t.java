package robot;

import java.nio.ByteBuffer;

/** Another type: struct command_t { float torque; } */
public final class command_t implements kadenz.Message {
    private static final long serialVersionUID = 1;

    public float torque;

    public int encodedSize() {
        return 4;
    }

    public long fingerprint() {
        return -2L;
    }

    public void encodeTo(ByteBuffer buffer) {
        buffer.putFloat(torque);
    }

    public void decodeFrom(ByteBuffer buffer) {
        torque = buffer.getFloat();
    }
}
